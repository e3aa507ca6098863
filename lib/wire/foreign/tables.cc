#include "wire/foreign/tables.h"

#include "util/error.h"

namespace afore::wire {

MapFile map_of(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values, LayerAxis axis) {
  AFORE_CHECK(shape.size() == 2 && static_cast<std::int64_t>(values.size()) == shape[0] * shape[1],
              "a map has rows and slots");
  MapFile map;
  map.axis = axis;
  map.physical = shape[1];
  map.rows.reserve(static_cast<std::size_t>(shape[0]));
  for (std::int64_t row = 0; row < shape[0]; ++row) {
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(row * shape[1]);
    map.rows.push_back({row, {{begin, begin + static_cast<std::ptrdiff_t>(shape[1])}}});
  }
  return map;
}

CountsFile counts_of(const std::vector<std::int64_t>& shape, std::vector<std::int64_t> values, LayerAxis axis,
                     ExpertIds ids) {
  AFORE_CHECK(shape.size() == 2 || shape.size() == 3, "counts have rows and cells, and perhaps steps");
  CountsFile counts;
  counts.axis = axis;
  counts.ids = ids;
  counts.steps = shape.size() == 3 ? shape[0] : 1;
  counts.rows = shape[shape.size() - 2];
  counts.cells = shape.back();
  if (ids == ExpertIds::logical) counts.experts = counts.cells;
  counts.counts = std::move(values);
  return counts;
}

}  // namespace afore::wire
