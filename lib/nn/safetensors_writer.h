#pragma once
// Bytes of a safetensors file, and the metadata of one that was read.
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "nn/safetensors.h"

namespace afore::nn {

struct TensorToWrite {
  std::string name, dtype;
  std::vector<std::int64_t> shape;
  std::string bytes;  // little-endian, C order
};

// In the order given; the header is padded with spaces so that the data begins at a multiple of 8.
std::string safetensors_bytes(const std::map<std::string, std::string>& metadata,
                              const std::vector<TensorToWrite>& tensors);

// "__metadata__" of a file whose header read_safetensors_header() accepts; empty without one.
std::map<std::string, std::string> read_safetensors_metadata(std::span<const std::byte> file,
                                                             const std::string& source);

}  // namespace afore::nn
