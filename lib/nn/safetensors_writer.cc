#include "nn/safetensors_writer.h"

#include "nn/json.h"

namespace afore::nn {

std::string safetensors_bytes(const std::map<std::string, std::string>& metadata,
                              const std::vector<TensorToWrite>& tensors) {
  nlohmann::ordered_json header;
  header["__metadata__"] = metadata;
  std::size_t end = 0;
  for (const TensorToWrite& tensor : tensors) {
    const std::size_t begin = end;
    end += tensor.bytes.size();
    header[tensor.name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, end}}};
  }
  std::string text = header.dump();
  text.append((8 - text.size() % 8) % 8, ' ');
  std::string bytes;
  bytes.reserve(8 + text.size() + end);
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(text.size() >> 8 * i & 0xFF);
  bytes += text;
  for (const TensorToWrite& tensor : tensors) bytes += tensor.bytes;
  return bytes;
}

std::map<std::string, std::string> read_safetensors_metadata(std::span<const std::byte> file,
                                                             const std::string& source) {
  std::uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | static_cast<std::uint8_t>(file[i]);
  const Json tree = parse_json({reinterpret_cast<const char*>(file.data()) + 8, header_bytes}, source);
  std::map<std::string, std::string> metadata;
  if (const JsonView found = JsonView(tree, source).find("__metadata__"))
    for (const auto& [key, value] : found.json().items()) metadata[key] = value.get<std::string>();
  return metadata;
}

}  // namespace afore::nn
