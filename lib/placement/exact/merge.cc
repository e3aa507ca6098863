#include "placement/exact/merge.h"

#include <algorithm>

namespace afore::placement::exact {

bool Merge::empty_part(Loads& loads, int id, std::int64_t limit) {
  const ReplicaTable& table = loads.replicas();
  const int expert = table.expert(id);
  const std::size_t mark = loads.mark();
  for (int to = table.first(expert); to < table.first(expert + 1) && loads.part(id) > 0; ++to) {
    if (to == id || loads.part(to) == 0) continue;
    const int worker = table.worker(to);
    const std::int64_t fits = loads.capacity(worker, limit, loads.active(worker)) - loads.tiles(worker);
    if (fits > 0) loads.move(id, to, std::min(fits, loads.part(id)));
  }
  if (loads.part(id) == 0) return true;
  loads.rewind(mark);
  return false;
}

void Merge::run(Loads& loads) {
  const ReplicaTable& table = loads.replicas();
  const std::int64_t limit = loads.max_load();
  parts_.clear();
  parts_.reserve(table.replicas());
  for (const int expert : loads.free_experts()) {
    const std::size_t begin = parts_.size();
    for (int id = table.first(expert); id < table.first(expert + 1); ++id)
      if (loads.part(id) > 0) parts_.emplace_back(loads.part(id), id);
    if (parts_.size() - begin < 2) parts_.resize(begin);
  }
  if (parts_.empty()) return;
  std::sort(parts_.begin(), parts_.end());
  for (const auto& [tiles, id] : parts_) {
    loads.clear_trail();
    empty_part(loads, id, limit);
  }
}

}  // namespace afore::placement::exact
