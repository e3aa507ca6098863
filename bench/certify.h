#pragma once
#include <cstdint>

namespace afore::bench {

// How much of 1,400 targets per number of slots is proven optimal, and what is left: 200 per EP degree, 128 experts,
// 4,096 tokens of 8 experts, tile 64, a copy budget of one per worker, nothing replicated before.
void print_certificates(std::int64_t node_budget);

}  // namespace afore::bench
