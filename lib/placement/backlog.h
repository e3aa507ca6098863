#pragma once
// What each FFN worker is predicted to have left when a target arrives. Workers do not wait for each other inside a
// target: one that was done early begins the next target early, as far as that one's tokens have come. With M
// microbatches in flight, target t comes from attention, which takes one microbatch after the other and has t's tokens
// back when the last FFN worker was done with target t - M:
//   attended(t) = max(done(t - M) + link, attended(t - 1)) + attention,   arrival(t) = attended(t) + link.
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"

namespace afore::placement {

class Backlog {
 public:
  explicit Backlog(int microbatches) : done_ns_(microbatches, 0) {}

  // By worker, before the next target; the least is 0 where all have some left. `attention_ns`: of the target's
  // microbatch; `link_ns`: one way.
  std::span<const Nanos> before(int workers, Nanos attention_ns, Nanos link_ns);
  // That target's loads by worker, 0 = no part in it; `c0_ns` is what a worker with a part takes beside its load.
  void add(std::span<const Nanos> load_ns, Nanos c0_ns);

 private:
  std::vector<Nanos> finish_ns_;  // by worker: when it is done with all targets so far
  std::vector<Nanos> done_ns_;    // of the last M targets: when the last worker was
  Nanos attended_ns_ = 0;  // when attention was done with the last target added
  Nanos next_attended_ns_ = 0, arrival_ns_ = 0;  // of the target that before() was asked about
  std::size_t targets_ = 0;
  std::vector<Nanos> before_ns_;
};

}  // namespace afore::placement
