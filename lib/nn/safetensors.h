#pragma once
// The header of a safetensors file. Format: 8 bytes of length N (little-endian), N bytes of JSON that begin with '{'
// (name -> dtype, shape, data_offsets; and "__metadata__"), then the data, which the tensors cover in order, without
// holes or overlaps (huggingface/safetensors, README "Format").
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace afore::nn {

inline constexpr std::uint64_t kMaxSafetensorsHeader = 100'000'000;  // bytes, as in the format's own reader

struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // one of the format's: "BF16", "I64", ...
  std::vector<std::int64_t> shape;
  std::uint64_t begin = 0, end = 0;  // of its data within the file
};

// All tensors in the order of their data. Error{data} naming `source`, tensor and fact for whatever breaks the format.
std::vector<SafetensorsEntry> read_safetensors_header(std::span<const std::byte> file, const std::string& source);

}  // namespace afore::nn
