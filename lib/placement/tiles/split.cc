#include "placement/tiles/split.h"

#include <algorithm>

namespace afore::placement::tiles {

bool lower_to(Flow& flow, Tiles limit) {
  flow.open_all();
  bool reached = true;
  for (int worker = 0; worker < flow.workers(); ++worker)
    if (flow.load(worker) > limit && (flow.closed(worker) || !flow.lower_open(worker, limit))) reached = false;
  return reached;
}

Tiles split(Flow& flow, Tiles floor, std::vector<int>& cut, Flow::Saved* at_floor) {
  cut.clear();
  flow.push_all(floor);
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
    while (!flow.lower(worker, limit)) {
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
    if (!flow.lower(worker, limit)) return false;
  return true;
}

void merge_parts(Flow& flow, Tiles limit) {
  const auto merge = [&](int expert) {
    if (flow.part(flow.standing().table.first(expert)) == flow.tiles(expert)) return;
    Tiles least = flow.tiles(expert), most_room = 0;
    flow.of_expert(expert, [&](int id) {
      if (flow.part(id) == 0) return false;
      least = std::min(least, flow.part(id));
      most_room = std::max(most_room, limit - flow.load(flow.worker(id)));
      return false;
    });
    if (most_room < least || least == flow.tiles(expert)) return;
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
