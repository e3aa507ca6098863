#include "placement/backlog.h"

#include <algorithm>

namespace afore::placement {

std::span<const Nanos> Backlog::before(int workers, Nanos attention_ns, Nanos link_ns) {
  finish_ns_.resize(workers, 0);
  before_ns_.resize(workers);
  next_attended_ns_ = std::max(done_ns_[targets_ % done_ns_.size()] + link_ns, attended_ns_) + attention_ns;
  arrival_ns_ = next_attended_ns_ + link_ns;
  for (int w = 0; w < workers; ++w) before_ns_[w] = std::max<Nanos>(0, finish_ns_[w] - arrival_ns_);
  // What all have left delays whatever is planned alike.
  const Nanos least = *std::min_element(before_ns_.begin(), before_ns_.end());
  for (Nanos& ns : before_ns_) ns -= least;
  return before_ns_;
}

void Backlog::add(std::span<const Nanos> load_ns, Nanos c0_ns) {
  Nanos done = arrival_ns_;
  for (std::size_t w = 0; w < load_ns.size(); ++w) {
    if (load_ns[w] == 0) continue;
    finish_ns_[w] = std::max(finish_ns_[w], arrival_ns_) + c0_ns + load_ns[w];
    done = std::max(done, finish_ns_[w]);
  }
  attended_ns_ = next_attended_ns_;
  done_ns_[targets_++ % done_ns_.size()] = done;
  // The clock's origin moves along, so that it never overflows.
  const Nanos past = *std::min_element(done_ns_.begin(), done_ns_.end());
  for (Nanos& ns : finish_ns_) ns = std::max<Nanos>(0, ns - past);
  for (Nanos& ns : done_ns_) ns -= past;
  attended_ns_ = std::max<Nanos>(0, attended_ns_ - past);
}

}  // namespace afore::placement
