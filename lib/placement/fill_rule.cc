#include "placement/fill_rule.h"

#include <algorithm>

namespace afore::placement {

void FillRule::reset(std::span<const int> homes, std::span<const double> work, std::span<const std::uint8_t> pinned,
                     int workers) {
  const std::size_t experts = homes.size();
  work_.assign(work.begin(), work.end());
  holders_.resize(experts);
  closed_.assign(experts, 0);
  load_.assign(workers, 0);
  empty_.assign(workers, 0);
  for (std::size_t e = 0; e < experts; ++e) {
    holders_[e].clear();
    closed_[e] = homes[e] < 0 || work_[e] <= 0 || (!pinned.empty() && pinned[e] != 0);
    if (homes[e] < 0) continue;
    holders_[e].push_back(homes[e]);
    load_[homes[e]] += work_[e];
  }
}

bool FillRule::holds(int expert, int worker) const {
  return std::find(holders_[expert].begin(), holders_[expert].end(), worker) != holders_[expert].end();
}

void FillRule::add_replica(int expert, int worker) {
  if (holds(expert, worker)) return;
  const double before = holders_[expert].empty() ? 0 : share(expert);
  holders_[expert].push_back(worker);
  for (const int holder : holders_[expert]) load_[holder] += share(expert) - (holder == worker ? 0 : before);
}

bool FillRule::next(Fill& fill) {
  for (;;) {
    int expert = -1;
    for (int e = 0; e < static_cast<int>(work_.size()); ++e)
      if (!closed_[e] && (expert < 0 || share(e) > share(expert))) expert = e;
    if (expert < 0) return false;
    int worker = -1;
    for (int w = 0; w < static_cast<int>(load_.size()); ++w)
      if (empty_[w] > 0 && (worker < 0 || load_[w] < load_[worker]) && !holds(expert, w)) worker = w;
    if (worker < 0) {
      closed_[expert] = 1;
      continue;
    }
    add_replica(expert, worker);
    --empty_[worker];
    fill = {expert, worker};
    return true;
  }
}

}  // namespace afore::placement
