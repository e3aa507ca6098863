#include "wire/foreign/json_tensor.h"

#include <string>

namespace afore::wire {
namespace {

constexpr std::size_t kMaxDims = 4;

int depth_of(JsonValue value) {
  int depth = 0;
  while (value.type() == JsonType::array) {
    ++depth;
    if (value.size() == 0) value.fail("the list is empty");
    value = *value.begin();
  }
  return depth;
}

void append(JsonValue value, std::size_t dim, std::int64_t min, JsonTensor& tensor) {
  if (dim == tensor.shape.size()) {
    tensor.values.push_back(value.integral(min, kMaxInteger, "value"));
    return;
  }
  value.expect(JsonType::array);
  const auto size = static_cast<std::int64_t>(value.size());
  if (tensor.shape[dim] < 0) tensor.shape[dim] = size;
  if (size != tensor.shape[dim])
    value.fail("ragged: " + std::to_string(size) + " entries, before " + std::to_string(tensor.shape[dim]));
  for (const JsonValue item : value) append(item, dim + 1, min, tensor);
}

}  // namespace

JsonTensor read_tensor(JsonValue value, int dims, std::int64_t min) {
  value.expect(JsonType::array);
  const int depth = depth_of(value);
  if (dims > 0 && depth != dims)
    value.fail("the list has " + std::to_string(depth) + " dimensions, not " + std::to_string(dims));
  if (depth > static_cast<int>(kMaxDims))
    value.fail("the list has " + std::to_string(depth) + " dimensions, at most " + std::to_string(kMaxDims) +
               " are read");
  JsonTensor tensor;
  tensor.shape.assign(static_cast<std::size_t>(depth), -1);
  append(value, 0, min, tensor);
  return tensor;
}

}  // namespace afore::wire
