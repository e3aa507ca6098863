#include <algorithm>

#include "verify/state.h"

namespace afore::verify {

LayerMap::LayerMap(int experts_, int workers_, int slots_)
    : experts(experts_),
      workers(workers_),
      slots(slots_),
      homes(experts_),
      held(static_cast<std::size_t>(workers_) * (slots_ + 1), kNobody),
      last_work(held.size(), INT64_MIN),
      last_seq(held.size(), INT64_MIN),
      last_target(held.size()) {
  for (int e = 0; e < experts; ++e) homes[e] = static_cast<int>(static_cast<std::int64_t>(e) * workers / experts);
}

LayerMap LayerMap::initial(const Facts& facts) {
  LayerMap map(facts.experts, facts.workers, facts.slots);
  std::vector<int> filled(facts.workers, 0);
  for (int e = 0; e < facts.experts; ++e) map.held[map.at(map.home(e), filled[map.home(e)]++)] = e;
  return map;
}

int LayerMap::used_slot(int expert, int worker) const {
  for (int s = 0; s < slots; ++s)
    if (held[at(worker, s)] == expert) return s;
  return held[at(worker, kStaging)] == expert ? kStaging : kAbsentSlot;
}

int LayerMap::primary(int expert) const {
  if (!rehomed) return home(expert);
  for (int w = 0; w < workers; ++w)
    if (used_slot(expert, w) != kAbsentSlot) return w;
  return kNobody;
}

bool LayerMap::is_primary_slot(int worker, int slot) const {
  const int expert = held[at(worker, slot)];
  return expert != kNobody && primary(expert) == worker && used_slot(expert, worker) == slot;
}

int LayerMap::replicas(int expert) const { return static_cast<int>(std::count(held.begin(), held.end(), expert)); }

std::vector<std::vector<int>> LayerMap::holders() const {
  std::vector<std::vector<int>> result(experts);
  for (int w = 0; w < workers; ++w)
    for (int s = kStaging; s < slots; ++s) {
      const int expert = held[at(w, s)];
      if (expert != kNobody && (result[expert].empty() || result[expert].back() != w)) result[expert].push_back(w);
    }
  return result;
}

}  // namespace afore::verify
