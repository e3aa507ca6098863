#include "wire/foreign/npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <optional>
#include <string_view>

#include "util/error.h"
#include "wire/foreign/elements.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxHeaderBytes = 10'000;  // NumPy's own limit (max_header_size)
constexpr std::size_t kMaxDimensions = 8;

struct Dtype {
  std::string_view name;
  Element element;
};
constexpr Dtype kDtypes[] = {{"|b1", Element::boolean}, {"|u1", Element::u8},  {"|i1", Element::i8},
                             {"<u2", Element::u16},     {"<i2", Element::i16}, {"<u4", Element::u32},
                             {"<i4", Element::i32},     {"<u8", Element::u64}, {"<i8", Element::i64},
                             {"<f2", Element::f16},     {"<f4", Element::f32}, {"<f8", Element::f64}};

// {'descr': '<i4', 'fortran_order': False, 'shape': (3, 4), } and nothing else that Python would take.
class HeaderReader {
 public:
  HeaderReader(std::string_view text, const std::string& source) : rest_(text), source_(source) {}

  void read();

  Element element{};
  bool fortran = false;
  std::vector<std::int64_t> shape;

 private:
  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "") const {
    throw Error(ErrorKind::data, source_ + ": header: " + fact, hint);
  }
  void skip_spaces() { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }
  bool accept(std::string_view token) {
    skip_spaces();
    if (!rest_.starts_with(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token)) fail("expected " + in_quotes(token) + ", found " + in_quotes(rest_));
  }
  std::string_view text();
  void read_dtype();
  void read_shape();

  std::string_view rest_;
  const std::string& source_;
};

std::string_view HeaderReader::text() {
  skip_spaces();
  const char quote = accept("'") ? '\'' : '"';
  if (quote == '"') expect("\"");
  const std::size_t end = rest_.find(quote);
  if (end == std::string_view::npos) fail("a string does not end");
  const std::string_view out = rest_.substr(0, end);
  rest_.remove_prefix(end + 1);
  return out;
}

void HeaderReader::read_dtype() {
  if (accept("[")) fail("the array is one of records", "write each column as an array of its own");
  const std::string_view name = text();
  for (const Dtype& known : kDtypes)
    if (known.name == name) {
      element = known.element;
      return;
    }
  fail("dtype " + in_quotes(name) + " is not read", "write it with .astype('<i4') or .astype('<i8')");
}

void HeaderReader::read_shape() {
  expect("(");
  while (!accept(")")) {
    skip_spaces();
    std::int64_t extent = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), extent);
    if (error != std::errc() || extent < 0)
      fail("the shape has " + in_quotes(rest_.substr(0, rest_.find_first_of(",)"))));
    rest_.remove_prefix(static_cast<std::size_t>(end - rest_.data()));
    if (shape.size() == kMaxDimensions) fail(fmt::format("there are more than {} dimensions", kMaxDimensions));
    shape.push_back(extent);
    if (accept(",")) continue;
    if (shape.size() == 1) fail("the shape is no tuple");  // (3) is a number to Python
    expect(")");
    break;
  }
}

void HeaderReader::read() {
  bool has_dtype = false, has_order = false, has_shape = false;
  const auto once = [&](bool& seen, std::string_view key) {
    if (seen) fail("the key " + in_quotes(key) + " is there twice");
    seen = true;
  };
  expect("{");
  while (!accept("}")) {
    const std::string_view key = text();
    expect(":");
    if (key == "descr") {
      once(has_dtype, key);
      read_dtype();
    } else if (key == "fortran_order") {
      once(has_order, key);
      fortran = accept("True");
      if (!fortran) expect("False");
    } else if (key == "shape") {
      once(has_shape, key);
      read_shape();
    } else {
      fail("unknown key " + in_quotes(key));
    }
    if (accept(",")) continue;
    expect("}");
    break;
  }
  skip_spaces();
  if (!rest_.empty()) fail("something follows the dict: " + in_quotes(rest_));
  if (!has_dtype || !has_order || !has_shape) fail("descr, fortran_order or shape is absent");
}

// The elements in the order of the file, column-major when `fortran`, go to their row-major places.
void read_values(const HeaderReader& header, std::span<const std::uint8_t> data, NpyArray& out,
                 const std::string& source) {
  if (out.values.empty()) return;  // extents beside a 0 may have any product
  const std::size_t element_bytes = bytes_of(header.element), dimensions = out.shape.size();
  std::array<std::int64_t, kMaxDimensions> strides{}, index{};
  std::int64_t stride = 1, at = 0;
  for (std::size_t d = 0; d < dimensions; ++d) {  // of the file's order
    strides[header.fortran ? d : dimensions - 1 - d] = stride;
    stride *= out.shape[header.fortran ? d : dimensions - 1 - d];
  }
  for (std::int64_t& value : out.values) {
    const std::optional<std::int64_t> number =
        whole_number(data.data() + static_cast<std::size_t>(at) * element_bytes, header.element);
    if (!number)
      throw Error(ErrorKind::data,
                  fmt::format("{}: element {} is no whole number", source, &value - out.values.data()));
    value = *number;
    for (std::size_t d = dimensions; d-- > 0;) {
      at += strides[d];
      if (++index[d] < out.shape[d]) break;
      at -= out.shape[d] * strides[d];
      index[d] = 0;
    }
  }
}

}  // namespace

NpyArray parse_npy(std::span<const std::uint8_t> bytes, const std::string& source, std::int64_t max_elements) {
  const auto fail = [&](const std::string& fact) { throw Error(ErrorKind::data, source + ": " + fact); };
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (!text.starts_with(kMagic) || bytes.size() < 10) fail("is no .npy file");
  const int version = bytes[6];
  if (version < 1 || version > 3 || bytes[7] != 0) fail(fmt::format("version {}.{} is not read", version, bytes[7]));
  const std::size_t length_bytes = version == 1 ? 2 : 4, begin = 8 + length_bytes;
  std::size_t header_bytes = 0;
  if (bytes.size() < begin) fail("the header's length is cut off");
  for (std::size_t i = length_bytes; i-- > 0;) header_bytes = header_bytes << 8 | bytes[8 + i];
  if (header_bytes > kMaxHeaderBytes)
    fail(fmt::format("the header's length {} is above {}", header_bytes, kMaxHeaderBytes));
  if (header_bytes > bytes.size() - begin)
    fail(fmt::format("the header's length is {}, {} bytes follow", header_bytes, bytes.size() - begin));

  HeaderReader header(text.substr(begin, header_bytes), source);
  header.read();
  const std::span<const std::uint8_t> data = bytes.subspan(begin + header_bytes);
  std::int64_t total = static_cast<std::int64_t>(bytes_of(header.element));
  bool empty = false;
  for (const std::int64_t extent : header.shape) empty = empty || extent == 0;
  for (const std::int64_t extent : header.shape)
    if (!empty && __builtin_mul_overflow(total, extent, &total))
      fail(fmt::format("the shape {} is too large", header.shape));
  if (empty) total = 0;
  if (static_cast<std::uint64_t>(total) != data.size())
    fail(fmt::format("{} of {} needs {} bytes, {} are there", header.shape, name_of(header.element), total,
                     data.size()));

  NpyArray out{header.shape, {}};
  const std::size_t elements = data.size() / bytes_of(header.element);
  if (elements > static_cast<std::size_t>(max_elements))
    fail(fmt::format("the shape {} has more than {} cells", header.shape, max_elements));
  out.values.resize(elements);
  read_values(header, data, out, source);
  return out;
}

std::vector<std::uint8_t> to_npy(std::span<const std::int64_t> values, std::span<const std::int64_t> shape,
                                 NpyType type) {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  AFORE_CHECK(static_cast<std::size_t>(count) == values.size(), "the values fill the shape");
  const std::size_t element_bytes = type == NpyType::int32 ? 4 : 8;
  // As NumPy writes tuples: (3,) but (3, 4).
  std::string head = fmt::format("{{'descr': '<i{}', 'fortran_order': False, 'shape': ({}{}), }}", element_bytes,
                                 fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
  head.append(63 - (10 + head.size()) % 64, ' ');  // elements begin at a multiple of 64, behind an LF
  head += '\n';
  const std::uint8_t version_and_length[] = {1, 0, static_cast<std::uint8_t>(head.size()),
                                             static_cast<std::uint8_t>(head.size() >> 8)};
  std::vector<std::uint8_t> out(10 + head.size() + values.size() * element_bytes);
  auto at = std::copy(kMagic.begin(), kMagic.end(), out.begin());
  at = std::copy(std::begin(version_and_length), std::end(version_and_length), at);
  at = std::copy(head.begin(), head.end(), at);
  for (const std::int64_t value : values) {
    if (type == NpyType::int32 && (value < INT32_MIN || value > INT32_MAX))
      throw Error(ErrorKind::data, fmt::format("{} does not fit an int32 of a .npy file", value));
    for (std::size_t byte = 0; byte < element_bytes; ++byte)
      *at++ = static_cast<std::uint8_t>(static_cast<std::uint64_t>(value) >> 8 * byte);
  }
  return out;
}

}  // namespace afore::wire
