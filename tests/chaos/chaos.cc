// Runs the simulator under faults drawn from a seed and checks what must always hold, beside the actors' own checks.
// Every seed is run with targets from a stream (stream.cc) and with requests in a closed loop (requests.cc).
//   chaos [--first SEED] [--seeds N]
// The first failure prints one line that repeats it, and ends the run.
#include "chaos.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "placement/registry.h"

namespace afore::chaos {

std::vector<host::Fault> random_faults(host::Draw& draw, const ClusterSpec& cluster, Nanos duration_ns) {
  std::vector<host::Fault> faults;
  const std::int64_t attention = cluster.attention_workers, ffn = cluster.ffn_workers;
  std::int64_t kills = 0;
  for (std::int64_t n = 1 + draw(5); n > 0; --n) {
    host::Fault fault;
    fault.kind = static_cast<host::FaultKind>(draw(7));
    if (fault.kind == host::FaultKind::kill && ++kills >= ffn) continue;  // one is left
    fault.pool = fault.kind == host::FaultKind::pause && draw(3) == 0 ? 'A' : 'F';
    fault.worker = static_cast<int>(draw(fault.pool == 'A' ? attention : ffn));
    fault.at_ns = draw(duration_ns + 1);
    fault.length_ns = draw(2) ? draw(duration_ns + 1) : draw(200'000);
    fault.lateness_ns = draw(100'000);
    fault.factor = static_cast<double>(1 + draw(20));
    faults.push_back(fault);
  }
  return faults;
}

void draw_traits(host::Draw& draw, host::SimOptions& sim, pipeline::PlannerOptions& planner) {
  if (draw(3) == 0) return;
  if (draw(2)) sim.layer_cost.rule = LoadRule::roofline;
  for (std::int64_t e = 0; e < sim.model.experts; ++e)
    if (draw(6) == 0) planner.pinned.push_back(static_cast<int>(e));
  if (draw(4) == 0) return;
  sim.cluster.workers.resize(sim.cluster.ffn_workers);
  for (WorkerTraits& traits : sim.cluster.workers) {
    if (draw(2)) traits.slowdown_permille = 100 + draw(5'000);
    if (draw(3) == 0) traits.copy_slowdown_permille = 100 + draw(5'000);
    traits.draining = draw(4) == 0;
  }
}

std::string random_policy(host::Draw& draw) {
  const auto policies = placement::policies();
  for (;;) {
    const std::string name = policies[draw(std::ssize(policies))].name;
    if (name != "ideal") return name;
  }
}

std::string text(const std::vector<host::Fault>& faults) {
  std::string list;
  for (const host::Fault& fault : faults) list.append(list.empty() ? "" : ",").append(to_string(fault));
  return list;
}

void count(const Membership& membership, Tally& tally) {
  tally.epochs += 1;
  tally.redone += membership.redone_targets;
  tally.abandoned += membership.abandoned_copies;
  tally.reloads += static_cast<std::int64_t>(membership.reloads.size());
}

bool is_unservable(const Error& error) {
  return error.kind() == ErrorKind::io && std::strstr(error.what(), "is lost with its worker") != nullptr;
}

namespace {

bool passes(std::uint64_t seed, const char* program, const char* what, void (*run)(std::uint64_t, Tally&),
            std::string (*describe)(std::uint64_t), Tally& tally) {
  try {
    run(seed, tally);
    return true;
  } catch (const std::exception& error) {
    std::printf("%s: %s\nrepeat with: %s --first %llu --seeds 1   (%s)\n", what, error.what(), program,
                static_cast<unsigned long long>(seed), describe(seed).c_str());
    return false;
  }
}

void print(const char* what, const Tally& t) {
  const auto number = [](std::int64_t n) { return static_cast<long long>(n); };
  std::printf(
      "%s: %lld losses of workers, %lld targets redone, %lld copies abandoned, %lld experts reloaded; %lld "
      "requests completed, %lld rejected or timed out; %lld runs ended because a lost expert had no slot left\n",
      what, number(t.epochs), number(t.redone), number(t.abandoned), number(t.reloads), number(t.completed),
      number(t.failed), number(t.unservable));
}

}  // namespace
}  // namespace afore::chaos

int main(int argc, char** argv) {
  using namespace afore::chaos;
  std::uint64_t first = 0, seeds = 1000;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    (flag == "--first" ? first : seeds) = std::strtoull(argv[i + 1], nullptr, 10);
  }
  Tally streams, requests;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    if (!passes(seed, argv[0], "stream", run_stream, describe_stream, streams)) return 1;
    if (!passes(seed, argv[0], "requests", run_requests, describe_requests, requests)) return 1;
  }
  std::printf("%llu seeds clean\n", static_cast<unsigned long long>(seeds));
  print("streams", streams);
  print("requests", requests);
  return 0;
}
