#pragma once
// Names and quantities that travel through every room.
// Indices are plain ints: experts and workers count from 0, layers are absolute layer indices.
#include <compare>
#include <cstdint>

namespace afore {

using Nanos = std::int64_t;  // durations and virtual time, nanoseconds

// One layer of one microbatch's step: what one demand record, one plan and one FFN execution are about.
struct Target {
  std::int64_t step = 0;
  int layer = 0;  // absolute layer index
  int microbatch = 0;
  auto operator<=>(const Target&) const = default;
};

enum class Phase { decode, prefill, mixed, warmup };  // warmup is excluded from metrics
enum class Objective { time, tiles };

const char* to_string(Phase phase);
const char* to_string(Objective objective);

}  // namespace afore
