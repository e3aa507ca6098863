#include "http/watchdog.h"

#include <fmt/format.h>

#include <vector>

namespace afore::http {
namespace {

using host::EngineHealth;

std::int64_t whole_seconds(Nanos ns) { return ns / 1'000'000'000; }

std::string late_plan(const EngineHealth& health, Nanos now) {
  const std::string age = health.last_plan_ns
                              ? fmt::format("the last plan is {} s old", whole_seconds(now - *health.last_plan_ns))
                              : fmt::format("there is no plan after {} s", whole_seconds(now));
  const std::int64_t targets = health.waiting_targets;
  return fmt::format("{} and {} target{}", age, targets, targets == 1 ? " waits" : "s wait");
}

std::string late_copy(const EngineHealth::MovingCopy& copy, Nanos now) {
  return fmt::format("a copy of expert {} of layer {} to F{} has been under way for {} s", copy.copy.expert, copy.layer,
                     copy.copy.to, whole_seconds(now - copy.since_ns));
}

}  // namespace

std::string Watchdog::not_ready(const EngineHealth& health, Nanos now, bool draining) const {
  if (!health.failure.empty()) return health.failure;
  std::vector<std::string> reasons;
  if (draining) reasons.emplace_back("draining");
  if (health.awaited_plan && now - health.awaited_plan->since_ns >= limits_.plan_ns)
    reasons.push_back(late_plan(health, now));
  if (health.oldest_copy && now - health.oldest_copy->since_ns >= limits_.copy_ns)
    reasons.push_back(late_copy(*health.oldest_copy, now));
  return fmt::format("{}", fmt::join(reasons, "; "));
}

}  // namespace afore::http
