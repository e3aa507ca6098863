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
  // The smallest part to the roomiest of the others, while one fits.
  const auto room = [&](int id) { return limit - flow.load(flow.worker(id)); };
  const auto merge = [&](int expert) {
    if (flow.part(flow.standing().table.first(expert)) == flow.tiles(expert)) return;
    Tiles least = flow.tiles(expert), most_room = 0;
    flow.of_expert(expert, [&](int id) {
      const Tiles part = flow.part(id);
      least = std::min(least, part > 0 ? part : least);
      most_room = std::max(most_room, part > 0 ? room(id) : 0);
      return false;
    });
    if (most_room < least) return;
    while (true) {
      int small[2] = {Flow::kNone, Flow::kNone}, roomy[2] = {Flow::kNone, Flow::kNone};
      flow.of_expert(expert, [&](int id) {
        if (flow.part(id) == 0) return false;
        const int by_part = small[0] < 0 || flow.part(id) < flow.part(small[0])   ? 0
                            : small[1] < 0 || flow.part(id) < flow.part(small[1]) ? 1
                                                                                  : 2;
        if (by_part == 0) small[1] = small[0];
        if (by_part < 2) small[by_part] = id;
        const int by_room = roomy[0] < 0 || room(id) > room(roomy[0])   ? 0
                            : roomy[1] < 0 || room(id) > room(roomy[1]) ? 1
                                                                        : 2;
        if (by_room == 0) roomy[1] = roomy[0];
        if (by_room < 2) roomy[by_room] = id;
        return false;
      });
      if (small[1] < 0) return;
      // Where the smallest part is with the most room, another may join it.
      const bool apart = small[0] != roomy[0];
      if (room(roomy[0]) >= flow.part(small[apart ? 0 : 1])) {
        const int from = small[apart ? 0 : 1];
        flow.move(from, roomy[0], flow.part(from));
      } else if (!apart && room(roomy[1]) >= flow.part(small[0])) {
        flow.move(small[0], roomy[1], flow.part(small[0]));
      } else {
        return;
      }
    }
  };
  for (const int expert : flow.standing().table.replicated()) merge(expert);
  for (int nth = 0; nth < flow.copies(); ++nth) {
    const int expert = flow.expert(flow.copy_id(nth));
    if (flow.standing().table.count(expert) == 1) merge(expert);
  }
}

}  // namespace afore::placement::tiles
