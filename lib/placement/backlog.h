#pragma once
// What each FFN worker is predicted to have left when a target arrives. Workers do not wait for each other inside a
// target: one that was done early begins the next target early, as far as that one's tokens have come. With M
// microbatches in flight, target t's tokens are back at attention when the last worker was done with target t - M. That
// is when t is taken to arrive: the pipeline is planned for as if FFN workers were its bottleneck. Where attention is,
// backlogs are shorter than this, and what a plan gives up for them costs no throughput.
#include <cstdint>
#include <span>
#include <vector>

#include "core/ids.h"

namespace afore::placement {

class Backlog {
 public:
  explicit Backlog(int microbatches) : done_ns_(microbatches, 0) {}

  // By worker, before the next target; the least is 0.
  std::span<const Nanos> before(int workers);
  // That target's loads by worker, 0 = no part in it; `c0_ns` is what a worker with a part takes beside its load.
  void add(std::span<const Nanos> load_ns, Nanos c0_ns);

 private:
  // The clock starts anew with each target's arrival, so that it never overflows.
  std::vector<Nanos> finish_ns_;  // by worker: when it is done with all targets so far
  std::vector<Nanos> done_ns_;    // ring of the last M targets: when the last worker was
  std::size_t next_ = 0;          // of the oldest of them
  std::vector<Nanos> before_ns_;
};

}  // namespace afore::placement
