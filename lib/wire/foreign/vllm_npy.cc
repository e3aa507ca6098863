#include "wire/foreign/vllm_npy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "wire/foreign/fail_in.h"
#include "wire/foreign/npy.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

void check_filled(const NpyArray& array, const std::string& source) {
  if (array.values.empty()) fail_in(source, fmt::format("the shape {} is empty", array.shape));
}

}  // namespace

CountsFile counts_from_npy(std::span<const std::uint8_t> bytes, const std::string& source, LayerAxis axis,
                           ExpertIds ids) {
  NpyArray array = parse_npy(bytes, source);
  if (array.shape.size() != 2 && array.shape.size() != 3)
    fail_in(source, fmt::format("the shape {} is not (rows, cells) or (steps, rows, cells)", array.shape));
  check_filled(array, source);
  for (std::size_t i = 0; i < array.values.size(); ++i) {
    if (array.values[i] < 0) fail_in(source, fmt::format("count {} of {} is negative", i, array.values.size()));
    if (array.values[i] > kMaxInteger)
      fail_in(source, fmt::format("count {} of {} is above 2^53", i, array.values.size()));
  }
  return counts_of(array.shape, std::move(array.values), axis, ids);
}

MapFile map_from_npy(std::span<const std::uint8_t> bytes, const std::string& source, LayerAxis axis) {
  const NpyArray array = parse_npy(bytes, source);
  if (array.shape.size() != 2) fail_in(source, fmt::format("the shape {} is not (rows, slots)", array.shape));
  check_filled(array, source);
  return map_of(array.shape, array.values, axis);
}

}  // namespace afore::wire
