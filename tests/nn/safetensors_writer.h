#pragma once
// Small safetensors files, right ones and broken ones.
#include <cstdint>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace afore::nn {

// The bytes of a file with that header text in front of that data.
inline std::string safetensors_file(std::string_view header, std::string_view data) {
  std::string file(8, '\0');
  const std::uint64_t size = header.size();
  std::memcpy(file.data(), &size, 8);
  return file.append(header).append(data);
}

template <class T>
std::string bytes_of_values(const std::vector<T>& values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

// Adds tensors one behind the other.
class SafetensorsWriter {
 public:
  SafetensorsWriter& add(const std::string& name, const std::string& dtype, const std::vector<std::int64_t>& shape,
                         const std::string& bytes) {
    header[name] = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
    return *this;
  }
  // Zeros.
  SafetensorsWriter& add_bf16(const std::string& name, const std::vector<std::int64_t>& shape) {
    std::size_t count = 1;
    for (const std::int64_t extent : shape) count *= static_cast<std::size_t>(extent);
    return add(name, "BF16", shape, std::string(2 * count, '\0'));
  }
  std::string file() const { return safetensors_file(header.dump(), data); }

  nlohmann::json header = nlohmann::json::object();
  std::string data;
};

}  // namespace afore::nn
