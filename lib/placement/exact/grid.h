#pragma once
// Loads that a worker can have at all: per_tile*t op per_expert*k for whole t and k. An optimum is one of them, so
// bounds round up to them and searches step by them. A superset of what a given problem attains: t and k are free.
#include <cstdint>
#include <vector>

#include "placement/exact/loads.h"

namespace afore::placement::exact {

class Grid {
 public:
  void reset(const Loads& loads);
  std::int64_t at_least(std::int64_t load) const;  // least attainable load >= `load`
  std::int64_t at_most(std::int64_t load) const;   // largest attainable load <= `load`; -1 = none

 private:
  std::int64_t work_at_least(std::int64_t work) const;
  std::int64_t work_at_most(std::int64_t work) const;

  bool additive_ = true, even_ = true;  // even: per_expert is a multiple of per_tile
  std::int64_t per_tile_ = 1, per_expert_ = 0, most_active_ = 0;
  std::vector<std::int64_t> slowdowns_;  // ascending, each once
};

}  // namespace afore::placement::exact
