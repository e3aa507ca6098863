// What a levelled plan takes to be left of earlier targets follows from the plans before it: a target's tokens are back
// when its last worker is done, that is when the target as many microbatches later arrives, and a worker goes on with
// the next target at once. Counted from the start of the stream here.
#include <algorithm>

#include "verify/state.h"

namespace afore::verify {

void check_backlog(const Facts& facts, const Plan& plan, Timeline& timeline) {
  if (plan.backlog_ns.empty()) return;
  timeline.worker_done.resize(facts.workers, 0);
  const std::size_t before = timeline.target_done.size();
  const auto in_flight = static_cast<std::size_t>(facts.microbatches);
  const Nanos arrival = before < in_flight ? 0 : timeline.target_done[before - in_flight];
  Counts left(facts.workers);
  for (int w = 0; w < facts.workers; ++w) left[w] = std::max<Nanos>(0, timeline.worker_done[w] - arrival);
  const Nanos least = *std::min_element(left.begin(), left.end());
  Counts tiles(facts.workers, 0), activated(facts.workers, 0);
  for (const TileShare& share : plan.assignment) {
    tiles[share.worker] += share.tiles;
    activated[share.worker] += 1;
  }
  Nanos done = arrival;
  for (int w = 0; w < facts.workers; ++w) {
    if (plan.backlog_ns[w] != left[w] - least)
      violate(plan.target, "backlog_ns of worker {} is {}, expected {}", w, plan.backlog_ns[w], left[w] - least);
    if (activated[w] > 0)
      timeline.worker_done[w] =
          std::max(timeline.worker_done[w], arrival) + worker_ns(facts, w, tiles[w], activated[w]);
    done = std::max(done, timeline.worker_done[w]);
  }
  timeline.target_done.push_back(done);
}

}  // namespace afore::verify
