#pragma once
// A template's text cut into tokens, white space of its blocks removed as trim_blocks and lstrip_blocks say.
#include <string>
#include <string_view>
#include <vector>

namespace afore::nn::jinja {

struct Token {
  enum class Kind { text, print_begin, print_end, block_begin, block_end, name, string, integer, number, sign, end };
  Kind kind;
  std::string text;  // of a string what it means; of a sign itself
  int line;
};

// Ends with a token of kind end. Error{data} with source and line.
std::vector<Token> tokenize(std::string_view text, const std::string& source);

}  // namespace afore::nn::jinja
