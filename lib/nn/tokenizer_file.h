#pragma once
// What tokenizer.json says, checked and in the terms of the parts that a Tokenizer is made of.
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "nn/added_tokens.h"
#include "nn/bpe.h"
#include "nn/splitter.h"

namespace afore::nn {

inline constexpr int kMaxTokenIds = 1 << 22;

struct TokenizerFile {
  std::vector<std::string> tokens;  // by id: the bytes of its text
  std::vector<bool> used;           // by id: whether it is a token's
  std::vector<int> pieces;          // ids of tokens that are taken for a piece with their bytes without merging
  std::array<int, 256> byte_ids{};
  std::vector<Merge> merges;  // by rank
  std::vector<SplitRule> splits;
  std::vector<AddedToken> added;
  bool nfc = false;  // whether text is composed first
};

// Error{data} for what is not JSON, not consistent, or would change the result in a way that is not computed.
TokenizerFile read_tokenizer_file(std::string_view json, const std::string& source);

}  // namespace afore::nn
