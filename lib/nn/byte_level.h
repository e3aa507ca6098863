#pragma once
// The characters that stand for bytes in the files of byte-level BPE: printable Latin-1 ones for themselves, the others
// from U+0100 on, in order (GPT-2's encoder.py, bytes_to_unicode; tokenizers, pre_tokenizers/byte_level.rs).
#include <optional>
#include <string>
#include <string_view>

namespace afore::nn {

// The bytes that `token` stands for; nothing where it has a character that stands for none. `token` is UTF-8.
std::optional<std::string> bytes_of_token(std::string_view token);

// How a vocabulary spells one byte.
std::string token_of_byte(unsigned char byte);

}  // namespace afore::nn
