#pragma once
// tokenizer.json texts for tests.
#include "nn/tokenizer.h"
#include "nn_test_util.h"

namespace afore::nn {

using nlohmann::json;

// The character that stands for a byte, as GPT-2's bytes_to_unicode lays it down.
inline std::string character_of(int byte) {
  int character = byte, shifted = 0x100;
  for (int b = 0; b <= byte; ++b) {
    const bool itself = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
    if (b == byte && !itself) character = shifted;
    shifted += !itself;
  }
  if (character < 0x80) return {static_cast<char>(character)};
  return {static_cast<char>(0xC0 | character >> 6), static_cast<char>(0x80 | (character & 0x3F))};
}

// All bytes by their value, then "ab" 256, "abc" 257, " a" 258, "bc" 259; no added tokens. Everything is one piece.
inline json small_tokenizer() {
  json vocab;
  for (int byte = 0; byte < 256; ++byte) vocab[character_of(byte)] = byte;
  const std::string space = character_of(' ');
  vocab["ab"] = 256;
  vocab["abc"] = 257;
  vocab[space + "a"] = 258;
  vocab["bc"] = 259;
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", false}};
  return {{"version", "1.0"},
          {"truncation", nullptr},
          {"padding", nullptr},
          {"added_tokens", json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", bytes},
          {"post_processor", nullptr},
          {"decoder", bytes},
          {"model",
           {{"type", "BPE"},
            {"dropout", nullptr},
            {"unk_token", nullptr},
            {"byte_fallback", false},
            {"ignore_merges", false},
            {"vocab", vocab},
            {"merges", {"a b", "ab c", space + " a", "b c"}}}}};
}

inline json added_token(int id, const std::string& content, bool special, bool normalized = false) {
  return {{"id", id},        {"content", content}, {"single_word", false},    {"lstrip", false},
          {"rstrip", false}, {"special", special}, {"normalized", normalized}};
}

inline Tokenizer tokenizer_of(const json& file) { return {file.dump(), "tokenizer.json"}; }

using Ids = std::vector<int>;

}  // namespace afore::nn
