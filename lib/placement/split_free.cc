#include "placement/split_free.h"

#include <algorithm>
#include <numeric>

#include "util/scratch.h"

namespace afore::placement {

void cut_line(std::span<const std::int64_t> tiles, int workers, std::vector<Part>& parts) {
  parts.clear();
  const std::int64_t total = std::accumulate(tiles.begin(), tiles.end(), std::int64_t{0});
  int worker = 0;
  std::int64_t room = total / workers + (total % workers > 0 ? 1 : 0);
  for (int expert = 0; expert < static_cast<int>(tiles.size()); ++expert)
    for (std::int64_t left = tiles[expert]; left > 0;) {
      while (room == 0) {
        ++worker;
        room = total / workers + (worker < total % workers ? 1 : 0);
      }
      const std::int64_t part = std::min(left, room);
      parts.push_back({expert, worker, part});
      left -= part;
      room -= part;
    }
}

bool pack_under(std::span<const std::int64_t> tiles, int workers, const LoadForm& form, std::int64_t limit,
                std::vector<Part>& parts) {
  parts.clear();
  const std::int64_t most = form.tiles_within(limit - form.per_expert);
  if (most < 1) return false;
  auto& items = scratch<std::vector<Part>, struct SplitFreeItems>();
  auto& room = scratch<std::vector<std::int64_t>, struct SplitFreeRoom>();
  items.clear();
  room.assign(workers, limit);
  int used = 0;
  for (int expert = 0; expert < static_cast<int>(tiles.size()); ++expert) {
    std::int64_t left = tiles[expert];
    for (; left > most; left -= most) {
      if (used == workers) return false;
      parts.push_back({expert, used, most});
      room[used++] -= form.whole(most);
    }
    if (left > 0) items.push_back({expert, 0, left});
  }
  std::sort(items.begin(), items.end(),
            [](const Part& a, const Part& b) { return a.tiles != b.tiles ? a.tiles > b.tiles : a.expert < b.expert; });
  for (const Part& item : items) {
    const std::int64_t load = form.whole(item.tiles);
    int tight = -1;
    // Empty workers are alike: one of them stands for all.
    bool empty_seen = false;
    for (int worker = 0; worker < workers; ++worker) {
      if (room[worker] < load) continue;
      if (room[worker] == limit) {
        if (empty_seen) continue;
        empty_seen = true;
      }
      if (tight < 0 || room[worker] < room[tight]) tight = worker;
    }
    if (tight >= 0) {
      parts.push_back({item.expert, tight, item.tiles});
      room[tight] -= load;
      continue;
    }
    for (std::int64_t left = item.tiles; left > 0;) {
      const auto widest = std::max_element(room.begin(), room.end()) - room.begin();
      const std::int64_t part = std::min(left, form.tiles_within(room[widest] - form.per_expert));
      if (part < 1) return false;
      parts.push_back({item.expert, static_cast<int>(widest), part});
      room[widest] -= form.whole(part);
      left -= part;
    }
  }
  return true;
}

}  // namespace afore::placement
