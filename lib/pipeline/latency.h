#pragma once
// Latencies collected as (nanoseconds, how many had it), and what a summary says of them. All are kept up to kMost
// entries; beyond, a sample of that size. For servers, a sample may be all from the start. Mean and standard deviation
// stay exact then, and quantiles are those of latencies drawn from all with equal chances (reservoir sampling with
// skips: Li 1994, algorithm L). The seed is fixed: the same latencies give the same summary.
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/records.h"
#include "util/rng.h"

namespace afore::pipeline {

class Latencies {
 public:
  static constexpr std::size_t kMost = std::size_t{1} << 17;

  // `sample`: its size, if that is all that is kept; its memory is then taken, and touched, at once.
  explicit Latencies(std::optional<std::size_t> sample = std::nullopt);

  // Equal neighbours share an entry: the tokens of one step mostly have one gap.
  void add(double ns, std::int64_t samples = 1) {
    if (sample_) draw(ns, samples);
    else if (!values_.empty() && values_.back().first == ns) values_.back().second += samples;
    else keep(ns, samples);
  }
  // Nearest rank; p99 stays null below 100 samples, where it would be noise.
  LatencySummary summary() const;
  // The same of plans' wall-clock times; nullopt when there are none.
  std::optional<Summary::PlanTime> plan_time() const;

 private:
  using Entry = std::pair<double, std::int64_t>;
  struct Moments {
    std::int64_t n = 0;
    double mean = 0, squares = 0;  // of the distances from the mean, their sum
    void add(double ns, std::int64_t samples);
  };
  struct Sample {
    Rng rng{0, "latencies"};
    Moments all;
    double largest_key = 1;  // of those in the sample, had each latency drawn one below 1
    std::int64_t next = 0;   // the latency that enters it next, counted from 0
  };

  void keep(double ns, std::int64_t samples);
  void draw(double ns, std::int64_t samples);
  void skip();
  Moments moments() const;

  std::size_t most_;
  std::vector<Entry> values_;     // all, in their order; or the sample
  std::optional<Sample> sample_;  // when there are more than most_ entries, or might be
};

}  // namespace afore::pipeline
