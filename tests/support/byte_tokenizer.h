#pragma once
#include <string>

#include "nn/byte_level.h"
#include "nn/tokenizer.h"
#include "wire/json_writer.h"

namespace afore {

// Every byte is a token of its own.
inline nn::Tokenizer byte_tokenizer() {
  const std::string bytes = R"({"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,"use_regex":true})";
  std::string file = R"({"added_tokens":[],"pre_tokenizer":)" + bytes + R"(,"decoder":)" + bytes;
  file += R"(,"model":{"type":"BPE","merges":[],"vocab":{)";
  for (int byte = 0; byte < 256; ++byte) {
    if (byte > 0) file += ',';
    wire::append_string(file, nn::token_of_byte(static_cast<unsigned char>(byte)));
    file += ':' + std::to_string(byte);
  }
  file += "}}}";
  return nn::Tokenizer(file, "tokenizer.json");
}

}  // namespace afore
