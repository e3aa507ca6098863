#pragma once
// Cuts a row of items, each of `units` equal units of work, into parts of about the same cost.
#include <algorithm>
#include <cstdint>

namespace afore::device::cpu {

struct WorkItem {
  std::int64_t before = 0;  // cost of the items before it
  std::int64_t units = 0, unit_cost = 1;
};

class WorkCuts {
 public:
  // `items`: memory of the caller for count + 1 items, filled by add().
  explicit WorkCuts(WorkItem* items) : items_(items) { items_[0].before = 0; }

  void add(std::int64_t units, std::int64_t unit_cost) {
    items_[count_].units = units;
    items_[count_].unit_cost = unit_cost;
    items_[count_ + 1].before = items_[count_].before + units * unit_cost;
    ++count_;
  }
  std::int64_t cost() const { return items_[count_].before; }

  // do_units(item, first unit, last unit) for what falls to `part` of `parts`: each unit to exactly one part.
  template <class Do>
  void for_part(std::int64_t part, std::int64_t parts, const Do& do_units) const {
    const std::int64_t begin = cost() * part / parts, end = cost() * (part + 1) / parts;
    if (begin == end) return;
    // The last item that starts at or before `begin`.
    const WorkItem* item = std::upper_bound(items_, items_ + count_ + 1, begin,
                                            [](std::int64_t at, const WorkItem& x) { return at < x.before; }) -
                           1;
    for (; item < items_ + count_ && item->before < end; ++item) {
      const std::int64_t first = unit_at(*item, begin), last = unit_at(*item, end);
      if (first < last) do_units(item - items_, first, last);
    }
  }

 private:
  // The first unit of `item` that starts at cost `at` or later.
  static std::int64_t unit_at(const WorkItem& item, std::int64_t at) {
    return std::clamp<std::int64_t>((at - item.before + item.unit_cost - 1) / item.unit_cost, 0, item.units);
  }

  WorkItem* items_;
  std::int64_t count_ = 0;
};

}  // namespace afore::device::cpu
