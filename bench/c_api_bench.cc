// What a call of afore.h takes over the planner itself: both plan the same drifting targets, in turns in one run.
//   c_api_bench    TSV: the planner, the call from C, and publishing and taking over the plan ring
#include <fmt/core.h>

#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "bench/targets.h"
#include "c/afore.h"
#include "c/config.h"
#include "util/stats.h"

namespace afore::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kTargets = 128, kRounds = 8;
constexpr std::int64_t kTopK = 8;

struct Size {
  int experts, workers;
};
constexpr Size kSizes[] = {{32, 4}, {128, 8}, {256, 32}};

template <class Call>
std::int64_t timed(Call&& call) {
  const auto start = Clock::now();
  call();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - start).count();
}

[[noreturn]] void fail(const char* what, const char* why) {
  fmt::print(stderr, "c_api_bench: {}: {}\n", what, why);
  std::exit(1);
}

afore_config config_of(const Size& size, const char* policy) {
  afore_config config;
  afore_config_init(&config, "glm-4.5-air");
  config.experts = size.experts;
  config.top_k = kTopK;
  config.layers = nullptr;
  config.ffn_workers = size.workers;
  config.policy = policy;
  return config;
}

// The counts with the tokens they are of, each at most once per expert.
struct Target {
  std::vector<std::int64_t> counts;
  std::int64_t tokens = 0;
};

std::vector<Target> whole_targets(int experts) {
  std::vector<Target> targets;
  for (Counts& counts : correlated_targets(experts, kTargets)) {
    std::int64_t sum = 0, most = 0;
    for (const std::int64_t count : counts) {
      sum += count;
      most = std::max(most, count);
    }
    // Of few experts the hottest may have more than a token each: more tokens, their rest on the first cold ones.
    const std::int64_t tokens = std::max(most, (sum + kTopK - 1) / kTopK);
    std::int64_t rest = tokens * kTopK - sum;
    for (std::int64_t& count : counts) {
      const std::int64_t more = std::min(rest, tokens - count);
      count += more;
      rest -= more;
    }
    targets.push_back({std::move(counts), tokens});
  }
  return targets;
}

struct Times {
  std::vector<std::int64_t> planner, call, publish, take;
};

Times measure(const Size& size, const char* policy) {
  const std::vector<Target> targets = whole_targets(size.experts);
  const afore_config config = config_of(size, policy);
  const c::Resolved resolved = c::resolve(config);
  pipeline::Planner direct(resolved.model, resolved.cluster, resolved.cost, resolved.planner);
  afore_planner* planner = nullptr;
  if (afore_planner_create(&config, &planner) != AFORE_OK) fail("create", afore_last_error(nullptr));
  const std::int64_t most = afore_planner_plan_bytes(planner), bytes = afore_ring_bytes(4, 1, most);
  void* memory = std::aligned_alloc(64, static_cast<std::size_t>(bytes));
  void* buffer = std::aligned_alloc(64, static_cast<std::size_t>(most + 63) / 64 * 64);
  afore_ring* ring = nullptr;
  if (afore_ring_init(memory, bytes, 4, 1, most, &ring) != AFORE_OK) fail("ring", afore_last_error(nullptr));

  Times times;
  Demand demand;
  afore_plan plan{}, taken{};
  plan.struct_size = taken.struct_size = sizeof plan;
  for (int i = 0; i < kTargets * kRounds; ++i) {
    const Target& target = targets[static_cast<std::size_t>(i) % targets.size()];
    const auto through_c = [&] {
      return timed([&] {
        if (afore_planner_plan(planner, i, 0, 0, target.tokens, target.counts.data(), 100'000, &plan) != AFORE_OK)
          fail("plan", afore_last_error(planner));
      });
    };
    const auto directly = [&] {
      demand.target = {i, 0, 0};
      demand.tokens = target.tokens;
      demand.counts = target.counts;
      direct.set_window(100'000);
      return timed([&] { direct.plan(demand); });
    };
    // Who goes first finds colder caches.
    const bool c_first = i % 2 == 0;
    const std::int64_t first = c_first ? through_c() : directly(), second = c_first ? directly() : through_c();
    times.call.push_back(c_first ? first : second);
    times.planner.push_back(c_first ? second : first);
    times.publish.push_back(timed([&] { afore_ring_publish(ring, &plan, 0); }));
    times.take.push_back(timed([&] { afore_ring_take(ring, 0, buffer, most, 0, &taken); }));
    if (taken.seq != i) fail("ring", "another plan was taken");
  }
  afore_ring_detach(ring);
  afore_planner_destroy(planner);
  std::free(buffer);
  std::free(memory);
  return times;
}

std::string both(std::vector<std::int64_t> ns) {
  return fmt::format("{:.2f}\t{:.2f}", static_cast<double>(*quantile(ns, 0.5)) / 1e3,
                     static_cast<double>(*quantile(ns, 0.99)) / 1e3);
}

}  // namespace
}  // namespace afore::bench

int main() {
  using namespace afore::bench;
  fmt::print(
      "policy\texperts\tworkers\tplanner_us\tplanner_p99\tcall_us\tcall_p99\tpublish_us\tpublish_p99\ttake_us\t"
      "take_p99\n");
  for (const char* policy : {"static", "afore"})
    for (const Size& size : kSizes) {
      const Times times = measure(size, policy);
      fmt::print("{}\t{}\t{}\t{}\t{}\t{}\t{}\n", policy, size.experts, size.workers, both(times.planner),
                 both(times.call), both(times.publish), both(times.take));
      std::fflush(stdout);
    }
}
