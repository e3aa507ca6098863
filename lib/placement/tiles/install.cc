#include "placement/tiles/install.h"

#include "placement/tiles/split.h"
#include "util/error.h"

namespace afore::placement::tiles {

void Installer::add(Flow& flow, OpenSlots& slots, std::span<const Made> copies) {
  for (const Made& made : copies) {
    slots.take(flow, made.slot);
    flow.add(made.expert, made.worker);
  }
}

Tiles Installer::split_with(Flow& flow, OpenSlots& slots, const CopyCall& call, std::span<const Made> copies) {
  add(flow, slots, copies);
  flow.restart(call.home_load);
  return split(flow, call.bound, cut_);
}

// Into copies_, from plan_, whose slots are taken and are given back; true: something differs.
bool Installer::choose_slots(Flow& flow, OpenSlots& slots) {
  bool differs = false;
  for (const Made& made : plan_) slots.release(flow, made.slot);
  copies_.clear();
  for (std::size_t nth = 0; nth < plan_.size(); ++nth) {
    Made made = plan_[nth];
    if (flow.part(flow.copy_id(static_cast<int>(nth))) == 0) {
      differs = true;
      continue;
    }
    made.slot = slots.pick(flow, made.worker);
    AFORE_CHECK(made.slot != OpenSlots::kNone, "a copy has no slot");
    slots.take(flow, made.slot);
    differs = differs || made.slot != plan_[nth].slot;
    copies_.push_back(made);
  }
  for (const Made& made : copies_) slots.release(flow, made.slot);
  return differs;
}

// Of copies_, which reach `load` all together.
std::size_t Installer::best_prefix(Flow& flow, OpenSlots& slots, const CopyCall& call, Tiles load) {
  std::size_t best = copies_.size();
  Nanos best_gain = net_gain(call, copies_, load, scratch_);
  for (std::size_t count = copies_.size() - 1; count > 0; --count) {
    const std::span<const Made> prefix = std::span(copies_).first(count);
    flow.drop_copies();
    const Nanos gain = net_gain(call, prefix, split_with(flow, slots, call, prefix), scratch_);
    for (const Made& made : prefix) slots.release(flow, made.slot);
    if (gain < best_gain) continue;
    best_gain = gain;
    best = count;
  }
  return best;
}

Tiles Installer::install(Flow& flow, OpenSlots& slots, const CopyCall& call, std::span<const Made> chosen,
                         const Flow::Saved* work) {
  plan_.assign(chosen.begin(), chosen.end());
  while (true) {
    Tiles load = call.bound;
    if (work != nullptr) {
      add(flow, slots, plan_);
      flow.restore(*work);
      work = nullptr;
    } else {
      load = split_with(flow, slots, call, plan_);
    }
    merge_parts(flow, load);
    if (!choose_slots(flow, slots) || copies_.size() < 2) return load;
    flow.save(saved_);
    const std::size_t best = best_prefix(flow, slots, call, load);
    flow.drop_copies();
    if (best == copies_.size()) {
      for (const Made& made : plan_) flow.add(made.expert, made.worker);
      flow.restore(saved_);
      return load;
    }
    plan_.assign(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(best));
  }
}

}  // namespace afore::placement::tiles
