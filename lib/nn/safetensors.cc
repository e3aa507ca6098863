#include "nn/safetensors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "nn/json.h"
#include "util/error.h"

namespace afore::nn {
namespace {

struct DtypeBits {
  std::string_view name;
  int bits;  // of one element
};

// huggingface/safetensors, safetensors/src/tensor.rs, Dtype::bitsize.
constexpr DtypeBits kDtypes[] = {{"BOOL", 8},        {"F4", 4},         {"F6_E2M3", 6}, {"F6_E3M2", 6}, {"U8", 8},
                                 {"I8", 8},          {"F8_E5M2", 8},    {"F8_E4M3", 8}, {"F8_E8M0", 8}, {"I16", 16},
                                 {"U16", 16},        {"F16", 16},       {"BF16", 16},   {"I32", 32},    {"U32", 32},
                                 {"F32", 32},        {"C64", 64},       {"F64", 64},    {"I64", 64},    {"U64", 64},
                                 {"F8_E4M3FNUZ", 8}, {"F8_E5M2FNUZ", 8}};

int bits_of(const JsonView& dtype) {
  const std::string& name = dtype.string();
  for (const DtypeBits& known : kDtypes)
    if (known.name == name) return known.bits;
  dtype.fail(fmt::format("{} is no dtype of the format", quote(name)));
}

// The bytes of a tensor, or an error for those that no file can have.
std::uint64_t data_bytes(const JsonView& entry, const std::vector<std::int64_t>& shape, int bits) {
  std::uint64_t total = static_cast<std::uint64_t>(bits);
  for (const std::int64_t extent : shape)
    if (__builtin_mul_overflow(total, static_cast<std::uint64_t>(extent), &total))
      entry.fail(fmt::format("the shape {} is too large", shape));
  if (total % 8 != 0) entry.fail(fmt::format("the shape {} ends inside a byte", shape));
  return total / 8;
}

SafetensorsEntry read_entry(const std::string& name, const JsonView& entry, std::uint64_t data_begin,
                            std::uint64_t file_bytes) {
  SafetensorsEntry read;
  read.name = name;
  read.dtype = entry.at("dtype").string();
  const int bits = bits_of(entry.at("dtype"));
  const JsonView shape = entry.at("shape"), offsets = entry.at("data_offsets");
  for (std::size_t i = 0; i < shape.size(); ++i) read.shape.push_back(shape.item(i).integer(0, INT64_MAX));
  if (offsets.size() != 2) offsets.fail(fmt::format("expected 2 offsets, found {}", offsets.size()));
  const std::int64_t data_size = static_cast<std::int64_t>(file_bytes - data_begin);
  const std::int64_t begin = offsets.item(0).integer(0, INT64_MAX), end = offsets.item(1).integer(0, INT64_MAX);
  if (end < begin) offsets.fail(fmt::format("ends at {}, before its begin at {}", end, begin));
  if (end > data_size)
    offsets.fail(fmt::format("ends at {}, the file has {} bytes of data", end, data_size), "was it cut off?");
  const std::uint64_t bytes = data_bytes(entry, read.shape, bits);
  if (bytes != static_cast<std::uint64_t>(end - begin))
    entry.fail(fmt::format("{} bytes of data, {} {} needs {}", end - begin, read.dtype, read.shape, bytes));
  read.begin = data_begin + static_cast<std::uint64_t>(begin);
  read.end = data_begin + static_cast<std::uint64_t>(end);
  return read;
}

void check_metadata(const JsonView& metadata) {
  if (!metadata.is_object()) metadata.fail(fmt::format("expected an object, found {}", metadata.shown()));
  for (const auto& [key, value] : metadata.json().items()) metadata.at(key).string();
}

// Sorted entries that cover [data_begin, file_bytes) once.
void check_cover(const std::vector<SafetensorsEntry>& entries, std::uint64_t data_begin, std::uint64_t file_bytes,
                 const std::string& source) {
  std::uint64_t covered = data_begin;
  for (const SafetensorsEntry& entry : entries) {
    if (entry.begin != covered)
      throw Error(ErrorKind::data,
                  fmt::format("{}: tensor {}: its data begins at {}, the data before it ends at {}", source,
                              quote(entry.name), entry.begin - data_begin, covered - data_begin),
                  "tensors may neither overlap nor leave holes");
    covered = entry.end;
  }
  if (covered != file_bytes)
    throw Error(ErrorKind::data, fmt::format("{}: {} bytes behind the last tensor", source, file_bytes - covered));
}

}  // namespace

std::vector<SafetensorsEntry> read_safetensors_header(std::span<const std::byte> file, const std::string& source) {
  const auto fail = [&](const std::string& fact) -> void { throw Error(ErrorKind::data, source + ": " + fact); };
  if (file.size() < 8) fail(fmt::format("{} bytes are no safetensors file", file.size()));
  std::uint64_t header_bytes = 0;
  for (int i = 7; i >= 0; --i) header_bytes = header_bytes << 8 | static_cast<std::uint8_t>(file[i]);
  if (header_bytes > kMaxSafetensorsHeader)
    fail(fmt::format("the header's length {} is above {}", header_bytes, kMaxSafetensorsHeader));
  if (header_bytes > file.size() - 8)
    fail(fmt::format("the header's length is {}, {} bytes follow", header_bytes, file.size() - 8));
  const std::string_view text(reinterpret_cast<const char*>(file.data()) + 8, header_bytes);
  if (!text.starts_with('{')) fail("the header does not begin with '{'");

  const Json tree = parse_json(text, source);
  const JsonView header(tree, source);
  std::vector<SafetensorsEntry> entries;
  entries.reserve(tree.size());
  const std::uint64_t data_begin = 8 + header_bytes;
  for (const auto& [name, value] : tree.items()) {
    if (name == "__metadata__") check_metadata(header.at(name));
    else entries.push_back(read_entry(name, header.at(name), data_begin, file.size()));
  }
  std::sort(entries.begin(), entries.end(), [](const SafetensorsEntry& a, const SafetensorsEntry& b) {
    return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;  // empty tensors stand before what begins there
  });
  check_cover(entries, data_begin, file.size(), source);
  return entries;
}

}  // namespace afore::nn
