#pragma once
// Code points in bytes that may not be UTF-8 (The Unicode Standard 15.0, table 3-7).
#include <cstddef>
#include <string>
#include <string_view>

namespace afore::nn {

struct CodePoint {
  enum class Kind {
    whole,
    broken,  // no beginning of a code point; `bytes` is the longest part that could have been one, at least 1
    cut,     // the text ends inside what may become a code point
  };
  Kind kind;
  std::size_t bytes;
};

// At the beginning of `text`, which is not empty.
CodePoint scan_code_point(std::string_view text);

// The length of the longest prefix that is UTF-8.
std::size_t utf8_prefix(std::string_view text);

// Moves what is decided at the beginning of `held` to `out`, each broken part as one U+FFFD (as WHATWG's decoder and
// Rust's from_utf8_lossy). What is cut stays, but with `all`, where it is broken, too.
void take_text(std::string& held, bool all, std::string& out);

}  // namespace afore::nn
