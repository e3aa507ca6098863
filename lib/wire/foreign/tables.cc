#include "wire/foreign/tables.h"

#include "util/error.h"

namespace afore::wire {

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
