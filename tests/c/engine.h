#pragma once
// What an engine has at hand: a config, counts of a router, and objects that end with the test.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "c/afore.h"
#include "util/rng.h"

namespace afore::c::testing {

struct PlannerEnd {
  void operator()(afore_planner* planner) const { afore_planner_destroy(planner); }
};
struct RingEnd {
  void operator()(afore_ring* ring) const { afore_ring_detach(ring); }
};
using PlannerPtr = std::unique_ptr<afore_planner, PlannerEnd>;
using RingPtr = std::unique_ptr<afore_ring, RingEnd>;

inline afore_config config_of(const char* preset, int workers) {
  afore_config config;
  EXPECT_EQ(afore_config_init(&config, preset), AFORE_OK) << afore_last_error(nullptr);
  config.ffn_workers = workers;
  return config;
}

inline PlannerPtr make_planner(const afore_config& config) {
  afore_planner* planner = nullptr;
  EXPECT_EQ(afore_planner_create(&config, &planner), AFORE_OK) << afore_last_error(nullptr);
  return PlannerPtr(planner);
}

inline afore_plan empty_plan() {
  afore_plan plan{};
  plan.struct_size = sizeof plan;
  return plan;
}

// `tokens` tokens of top_k different experts each, low ones more often.
template <class Count>
std::vector<Count> draw_counts(Rng& rng, int experts, int top_k, std::int64_t tokens) {
  std::vector<Count> counts(static_cast<std::size_t>(experts), 0);
  for (std::int64_t token = 0; token < tokens; ++token) {
    std::vector<bool> taken(static_cast<std::size_t>(experts), false);
    for (int k = 0; k < top_k;) {
      const double u = rng.uniform();
      const auto expert = static_cast<std::size_t>(u * u * experts);
      if (taken[expert]) continue;
      taken[expert] = true;
      ++counts[expert];
      ++k;
    }
  }
  return counts;
}

inline std::string text(const afore_planner* planner) { return afore_last_error(planner); }

}  // namespace afore::c::testing
