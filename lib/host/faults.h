#pragma once
// Faults of a simulated run, named one by one, so that any failure is repeated by its text:
//   kill:F2@12ms+100ms      the worker is gone; the others hear of it after that time (100ms if not given)
//   pause:A0@3ms+2ms        the worker notices nothing during that time
//   slow@1ms+5ms=4          links and copies that start then take 4 times as long
//   late-plan:F1@3ms+5ms    plans that would reach the worker during that time reach it at its end
//   lost-plan:F1@3ms+5ms    the worker is not told of plans then; it looks by itself a millisecond later
//   late-done@0us+9ms=50us  completions are noticed up to that much later, each lane in its order, lanes out of order
//   hold:F3@1ms+4ms         no copy into the worker's slots starts during that time
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"
#include "util/rng.h"

namespace afore::host {

enum class FaultKind { kill, pause, slow, late_plan, lost_plan, late_done, hold };

struct Fault {
  FaultKind kind = FaultKind::pause;
  char pool = 'F';  // A or F; of no meaning for slow and late_done
  int worker = 0;
  Nanos at_ns = 0;
  Nanos length_ns = 0;    // kill: until it is noticed
  Nanos lateness_ns = 0;  // late_done: at most
  double factor = 1;      // slow
};

// Separated by commas. Error{usage} saying which part is wrong.
std::vector<Fault> parse_faults(std::string_view text);
std::string to_string(const Fault& fault);
// Error{usage} when a fault names a worker that is not there, or nobody would be left.
void check_faults(const std::vector<Fault>& faults, int attention_workers, int ffn_workers);

// When workers notice things, under these faults. Deterministic: the same questions in the same order, the same
// answers.
class FaultClock {
 public:
  enum class Lane { compute, copy_in, copy_out, plan, message };

  FaultClock(std::vector<Fault> faults, int attention_workers, int ffn_workers, std::uint64_t seed);

  const std::vector<Fault>& faults() const { return faults_; }
  bool any() const { return !faults_.empty(); }
  // Something for the worker happens at `at_ns`; when the worker notices. What happens on one lane is noticed in order.
  Nanos notices(char pool, int worker, Lane lane, Nanos at_ns);
  double slowdown(Nanos at_ns) const;                   // of links and copies, from 1 on
  Nanos held_until(int ffn_worker, Nanos at_ns) const;  // at_ns itself when its slots are not held

 private:
  static constexpr int kLanes = 5;

  std::vector<Fault> faults_;
  int attention_workers_;
  std::vector<Nanos> last_;  // by worker (attention first), by lane
  Rng rng_;
};

}  // namespace afore::host
