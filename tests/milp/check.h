#pragma once
// What the checks share: which instances to run, and what was found.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "plan_model.h"

namespace afore::test {

// AFORE_MILP_INSTANCES: how many of each kind, instead of `usual`; AFORE_MILP_FIRST: the first one's number, on which
// alone an instance depends.
struct Range {
  int first = 0, end = 0;
};
inline Range instances(int usual) {
  const char *first = std::getenv("AFORE_MILP_FIRST"), *count = std::getenv("AFORE_MILP_INSTANCES");
  Range range{first == nullptr ? 0 : std::atoi(first), 0};
  range.end = range.first + (count == nullptr ? usual : std::atoi(count));
  return range;
}

// AFORE_MILP_SECONDS per instance. What CBC does not finish still leaves an interval to check by: it says how much the
// check sees, never that something is wrong.
inline Effort effort() {
  Effort effort;
  if (const char* seconds = std::getenv("AFORE_MILP_SECONDS")) effort.seconds = std::atof(seconds);
  return effort;
}

#define AFORE_NEEDS_CBC() \
  if (!afore::test::Cbc::installed()) GTEST_SKIP() << "cbc is not installed (Debian: coinor-cbc)"

// A load that was reached, and the bound that was stated.
struct Claim {
  std::int64_t load = 0, bound = 0;
  bool certified() const { return load == bound; }
};

// "" or what is wrong with the claim.
inline std::string refute(const Claim& claim, const Optimum& optimum) {
  const std::string numbers =
      fmt::format("bound {}, load {}, optimum in [{}, {}]", claim.bound, claim.load, optimum.lower, optimum.upper);
  if (!optimum.within_ceiling || claim.load < optimum.lower) return "no plan has so small a load: " + numbers;
  if (optimum.upper >= 0 && claim.bound > optimum.upper) return "a plan is below the bound: " + numbers;
  if (claim.bound > claim.load) return "the bound is above the load: " + numbers;
  return "";
}

class Tally {
 public:
  explicit Tally(std::string name) : name_(std::move(name)) {}
  void add(const Claim& claim, const Optimum& optimum) {
    ++claims_;
    certified_ += claim.certified();
    if (!optimum.known()) return;
    ++known_;
    optimal_ += claim.load == optimum.upper;
    tight_ += claim.bound == optimum.upper;
    if (optimum.upper == 0) return;
    const double gap = static_cast<double>(claim.load - optimum.upper) / static_cast<double>(optimum.upper);
    gaps_ += gap;
    largest_gap_ = std::max(largest_gap_, gap);
  }
  static void print_head() {
    fmt::print("{:<34} {:>7} {:>10} {:>11} {:>10} {:>8} {:>11} {:>10}\n", "", "claims", "certified%", "MILP known%",
               "optimal%", "tight%", "mean gap%", "max gap%");
  }
  void print() const {
    const auto percent = [](int part, int whole) { return whole == 0 ? 0.0 : 100.0 * part / whole; };
    fmt::print("{:<34} {:>7} {:>10.1f} {:>11.1f} {:>10.1f} {:>8.1f} {:>11.3f} {:>10.2f}\n", name_, claims_,
               percent(certified_, claims_), percent(known_, claims_), percent(optimal_, known_),
               percent(tight_, known_), known_ == 0 ? 0.0 : 100 * gaps_ / known_, 100 * largest_gap_);
    std::fflush(stdout);
  }

 private:
  std::string name_;
  int claims_ = 0, certified_ = 0, known_ = 0, optimal_ = 0, tight_ = 0;
  double gaps_ = 0, largest_gap_ = 0;
};

}  // namespace afore::test
