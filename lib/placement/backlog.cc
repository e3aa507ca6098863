#include "placement/backlog.h"

#include <algorithm>

namespace afore::placement {

std::span<const Nanos> Backlog::before(int workers) {
  finish_ns_.resize(workers, 0);
  before_ns_.resize(workers);
  const Nanos arrival = done_ns_[next_];
  for (int w = 0; w < workers; ++w) before_ns_[w] = std::max<Nanos>(0, finish_ns_[w] - arrival);
  // What all have left delays alike whatever is planned.
  const Nanos least = *std::min_element(before_ns_.begin(), before_ns_.end());
  for (Nanos& ns : before_ns_) ns -= least;
  return before_ns_;
}

void Backlog::add(std::span<const Nanos> load_ns, Nanos c0_ns) {
  const Nanos arrival = done_ns_[next_];
  for (Nanos& ns : finish_ns_) ns = std::max<Nanos>(0, ns - arrival);
  for (Nanos& ns : done_ns_) ns = std::max<Nanos>(0, ns - arrival);
  Nanos done = 0;
  for (std::size_t w = 0; w < load_ns.size(); ++w) {
    if (load_ns[w] > 0) finish_ns_[w] += c0_ns + load_ns[w];
    done = std::max(done, finish_ns_[w]);
  }
  done_ns_[next_] = done;
  next_ = (next_ + 1) % done_ns_.size();
}

}  // namespace afore::placement
