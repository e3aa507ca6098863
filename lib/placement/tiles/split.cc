#include "placement/tiles/split.h"

#include <algorithm>

namespace afore::placement::tiles {

bool lower_to(Flow& flow, Tiles limit) {
  flow.open_all();
  bool reached = true;
  for (int worker = 0; worker < flow.workers(); ++worker)
    while (flow.load(worker) > limit)
      if (flow.closed(worker) || !flow.augment_open(worker, limit)) {
        reached = false;
        break;
      }
  return reached;
}

Tiles split(Flow& flow, Tiles floor, std::vector<int>& cut, Flow::Saved* at_floor) {
  cut.clear();
  for (int worker = 0; worker < flow.workers(); ++worker)
    if (flow.load(worker) > floor) flow.push(worker, floor);
  if (lower_to(flow, floor)) return floor;
  if (at_floor != nullptr) flow.save(*at_floor);

  // All that is closed is one cut.
  std::int64_t confined = 0;
  for (int worker = 0; worker < flow.workers(); ++worker) {
    if (!flow.closed(worker)) continue;
    confined += flow.load(worker);
    cut.push_back(worker);
  }
  auto limit = static_cast<Tiles>(ceil_div(confined, std::ssize(cut)));
  const auto lower = [&](int worker) {
    while (flow.load(worker) > limit) {
      if (flow.augment(worker, limit)) continue;
      confined = 0;
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
    if (flow.part(flow.standing().table.first(expert)) == flow.tiles(expert)) return;
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
