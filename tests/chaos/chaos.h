#pragma once
// What the two kinds of chaos share: faults drawn from a seed, and a count of what struck.
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "../host/harness.h"
#include "util/error.h"

namespace afore::chaos {

// What struck, over all seeds: a fault that never bites proves nothing.
struct Tally {
  std::int64_t unservable = 0, epochs = 0, redone = 0, abandoned = 0, reloads = 0, completed = 0, failed = 0;
};

struct Broken : std::runtime_error {
  using std::runtime_error::runtime_error;
};
inline void require(bool holds, const std::string& what) {
  if (!holds) throw Broken(what);
}

// At most all but one FFN worker are killed.
std::vector<host::Fault> random_faults(host::Draw& draw, const ClusterSpec& cluster, Nanos duration_ns);
// In two of three runs the roofline rule, slow and draining workers, or pinned experts.
void draw_traits(host::Draw& draw, host::SimOptions& sim, pipeline::PlannerOptions& planner);
std::string random_policy(host::Draw& draw);  // one of all but ideal, which has no replicas to lose
std::string text(const std::vector<host::Fault>& faults);
void count(const Membership& membership, Tally& tally);
// The run ended as it must where a lost expert has no slot left: with an error that names it.
bool is_unservable(const Error& error);

// Each runs one seed and throws what is wrong.
void run_stream(std::uint64_t seed, Tally& tally);    // targets from a stream
void run_requests(std::uint64_t seed, Tally& tally);  // requests in a closed loop
std::string describe_stream(std::uint64_t seed);
std::string describe_requests(std::uint64_t seed);

}  // namespace afore::chaos
