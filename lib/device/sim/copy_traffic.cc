#include "device/sim/copy_traffic.h"

#include <algorithm>
#include <utility>

#include "util/error.h"

namespace afore::device {

void CopyTraffic::started(const CopyId& id, const Copy& copy, Nanos now_ns, Nanos behind_ns) {
  running_[id] = {copy, now_ns + behind_ns, behind_ns};
  on_link(copy.from, Way::out) = id;
  on_link(copy.to, Way::in) = id;
}

Nanos CopyTraffic::go_ahead(int worker, Way way, Nanos at_ns, Nanos duration_ns) {
  const std::optional<CopyId>& id = on_link(worker, way);
  if (!id) return 0;
  Running& running = running_.at(*id);
  running.delay_ns += duration_ns;
  if (at_ns <= running.started_ns || chunk_ns_ <= 0) return 0;
  const Nanos into_chunk = (at_ns - running.started_ns) % chunk_ns_;
  return into_chunk == 0 ? 0 : chunk_ns_ - into_chunk;
}

Nanos CopyTraffic::take_delay(const CopyId& id) {
  const auto it = running_.find(id);
  AFORE_CHECK(it != running_.end(), "a copy ends that is on no link");
  const Nanos delay = std::exchange(it->second.delay_ns, 0);
  if (delay > 0) return delay;
  on_link(it->second.copy.from, Way::out).reset();
  on_link(it->second.copy.to, Way::in).reset();
  running_.erase(it);
  return 0;
}

void CopyTraffic::abandon_all() {
  running_.clear();
  std::fill(on_link_.begin(), on_link_.end(), std::nullopt);
}

}  // namespace afore::device
