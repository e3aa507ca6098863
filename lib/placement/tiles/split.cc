#include "placement/tiles/split.h"

#include <algorithm>

namespace afore::placement::tiles {

Tiles split(Flow& flow, Tiles floor, std::vector<int>& cut) {
  cut.clear();
  Tiles limit = floor;
  for (int worker = 0; worker < flow.workers(); ++worker)
    if (flow.load(worker) > limit) flow.push(worker, limit);
  const auto lower = [&](int worker) {
    while (flow.load(worker) > limit) {
      if (flow.augment(worker, limit)) continue;
      std::int64_t confined = 0;
      for (const int inside : flow.reached()) confined += flow.load(inside);
      limit = static_cast<Tiles>(ceil_div(confined, std::ssize(flow.reached())));
      cut.assign(flow.reached().begin(), flow.reached().end());
    }
  };
  // The fullest first: what stops it usually decides.
  lower(flow.fullest());
  for (int worker = 0; worker < flow.workers(); ++worker) lower(worker);
  std::sort(cut.begin(), cut.end());
  return limit;
}

bool split_within(Flow& flow, Tiles limit) {
  for (int worker = 0; worker < flow.workers(); ++worker)
    while (flow.load(worker) > limit)
      if (!flow.augment(worker, limit)) return false;
  return true;
}

void merge_parts(Flow& flow, Tiles limit) {
  const auto merge = [&](int expert) {
    flow.of_expert(expert, [&](int from) {
      const Tiles part = flow.part(from);
      if (part == 0 || part == flow.tiles(expert)) return false;
      flow.of_expert(expert, [&](int to) {
        if (to == from || flow.part(to) == 0 || limit - flow.load(flow.worker(to)) < part) return false;
        flow.move(from, to, part);
        return true;
      });
      return false;
    });
  };
  for (const int expert : flow.standing().table.replicated()) merge(expert);
  for (int nth = 0; nth < flow.copies(); ++nth) {
    const int expert = flow.expert(flow.copy_id(nth));
    if (flow.standing().table.count(expert) == 1) merge(expert);
  }
}

}  // namespace afore::placement::tiles
