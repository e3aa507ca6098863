#include "placement/tiles/probe.h"

#include <algorithm>

namespace afore::placement::tiles {

void Probe::list_parts(const Flow& flow, std::span<const std::uint8_t> pinned, int donor) {
  parts_.clear();
  const auto offer = [&](int id) {
    const int expert = flow.expert(id);
    if (flow.part(id) > 0 && (pinned.empty() || pinned[expert] == 0)) parts_.push_back(id);
    return false;
  };
  for (const int id : flow.standing().table.of_worker(donor))
    if (flow.alive(id)) offer(id);
  for (int nth = 0; nth < flow.copies(); ++nth)
    if (flow.worker(flow.copy_id(nth)) == donor) offer(flow.copy_id(nth));
}

Probe::Step Probe::best_exchange(Flow& flow, const OpenSlots& slots, int donor, Tiles limit) {
  Step best;
  Tiles best_gain = 0, lost = 0;
  for (int worker = 0; worker < flow.workers(); ++worker) {
    if (worker == donor || slots.room().open[worker] == 0 || flow.closed(worker)) continue;
    const int slot = slots.pick_working(flow, worker);
    if (slot == OpenSlots::kNone) continue;
    const Tiles here = flow.part(slots.slot(slot).replica), room = limit - flow.load(worker) + here;
    for (const int from : parts_) {
      const Tiles amount = std::min({flow.part(from), room, flow.load(donor) - limit + here});
      if (amount - here <= best_gain || flow.holds(flow.expert(from), worker)) continue;
      best_gain = amount - here;
      lost = here;
      best = {from, worker, slot, amount};
    }
  }
  if (best.worker < 0) return best;
  const int evicted = slots.slot(best.slot).replica;
  flow.move(evicted, flow.standing().table.first(flow.expert(evicted)), lost);
  return best;
}

Probe::Step Probe::best_step(const Flow& flow, const OpenSlots& slots, std::span<const std::uint8_t> pinned, int donor,
                             Tiles limit, Rule rule) {
  Step best;
  receivers_.clear();
  for (int worker = 0; worker < flow.workers(); ++worker) {
    if (flow.load(worker) < limit && slots.room().open[worker] > 0) receivers_.push_back(worker);
  }
  if (receivers_.empty()) return best;
  list_parts(flow, pinned, donor);
  const Tiles need = flow.load(donor) - limit;
  while (!parts_.empty() && !receivers_.empty()) {
    const auto largest = std::max_element(parts_.begin(), parts_.end(), [&](int a, int b) {
      return flow.part(a) != flow.part(b) ? flow.part(a) < flow.part(b) : a > b;
    });
    const int from = *largest;
    *largest = parts_.back();
    parts_.pop_back();
    const Tiles part = flow.part(from), wanted = std::min(part, need);
    Tiles best_room = 0;
    for (std::size_t i = 0; i < receivers_.size(); ++i) {
      const int worker = receivers_[i];
      const Tiles room = limit - flow.load(worker);
      if (best.worker >= 0) {
        const bool fits = room >= wanted, best_fits = best_room >= wanted;
        const bool tighter = rule == Rule::best_fit && best_fits;
        if (tighter ? !fits || room >= best_room : room <= best_room) continue;
      }
      if (flow.holds(flow.expert(from), worker)) continue;
      const int slot = slots.pick(flow, worker);
      if (slot == OpenSlots::kNone) {  // for no expert
        receivers_.erase(receivers_.begin() + static_cast<std::ptrdiff_t>(i--));
        continue;
      }
      best = {from, worker, slot, rule == Rule::whole_deficit ? std::min(part, room) : std::min(wanted, room)};
      best_room = room;
    }
    if (best.worker >= 0) return best;
  }
  return best;
}

bool Probe::run(Flow& flow, OpenSlots& slots, std::span<const std::uint8_t> pinned, Tiles limit, Rule rule,
                int most_copies) {
  made_.clear();
  while (true) {
    const int donor = flow.fullest();
    if (flow.load(donor) <= limit) return true;
    if (!made_.empty() && !flow.closed(donor) && flow.lower_open(donor, limit)) continue;
    if (static_cast<int>(made_.size()) == most_copies) return false;
    Step step = best_step(flow, slots, pinned, donor, limit, rule);
    if (step.worker < 0) {
      list_parts(flow, pinned, donor);
      step = best_exchange(flow, slots, donor, limit);
    }
    if (step.worker < 0) return false;
    slots.take(flow, step.slot);
    const int id = flow.add(flow.expert(step.from), step.worker);
    flow.move(step.from, id, step.amount);
    made_.push_back({flow.expert(step.from), step.worker, step.slot});
    flow.open_all();
  }
}

void Probe::undo(Flow& flow, OpenSlots& slots) {
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
    flow.drop_copy();
    slots.release(flow, made->slot);
  }
  made_.clear();
}

}  // namespace afore::placement::tiles
