#include "pipeline/ffn_worker.h"

#include <algorithm>

#include "util/error.h"

namespace afore::pipeline {

void FfnWorker::set_placement(int layer, const LayerPlacement& placement) {
  Layer& mine = layers_[layer];
  mine.slots.assign(placement.slots_per_worker() + 1, Slot{});
  for (int slot = 0; slot < placement.slots_per_worker(); ++slot)
    mine.slots[slot].expert = mine.slots[slot].complete = placement.expert_at(index_, slot);
  mine.slots.back().expert = mine.slots.back().complete = placement.expert_at(index_, kStagingSlot);
}

void FfnWorker::on_epoch(std::int64_t next_serial) {
  queue_.clear();
  early_rows_.clear();
  incoming_.clear();
  outgoing_.clear();
  taken_serial_ = finished_serial_ = next_serial - 1;
  running_ = false;
}

std::vector<int> FfnWorker::inventory(int layer) const {
  std::vector<int> complete;
  const auto it = layers_.find(layer);
  if (it == layers_.end()) return complete;
  for (const Slot& slot : it->second.slots) complete.push_back(slot.complete);
  return complete;
}

void FfnWorker::on_reload(int layer, int slot, const CopyId& id) {
  Slot& reloading = layers_.at(layer).slots[slot];
  Transfer& transfer = incoming_[id];
  transfer.copy = {reloading.expert, kFromSource, index_, slot};
  transfer.layer = layer;
  transfer.released = true;
  reloading.incoming = id;
  reloading.complete = kNoExpert;
}

// Staging is last, so a regular slot is found first.
int FfnWorker::find_slot(const Layer& layer, int expert) {
  for (std::size_t slot = 0; slot < layer.slots.size(); ++slot)
    if (layer.slots[slot].expert == expert) return static_cast<int>(slot);
  return kNoSlot;
}

int FfnWorker::slot_index(const Layer& layer, const Copy& copy) {
  return copy.slot == kStagingSlot ? static_cast<int>(layer.slots.size()) - 1 : copy.slot;
}

FfnWorker::Slot& FfnWorker::slot_of(const Transfer& transfer) {
  Layer& layer = layers_.at(transfer.layer);
  return layer.slots[slot_index(layer, transfer.copy)];
}

void FfnWorker::on_plan(Nanos now, const PlanPtr& plan) {
  // Late, duplicate or reordered plans would bind slots that later plans rely on.
  AFORE_CHECK(plan->serial == taken_serial_ + 1, "a plan is out of sequence");
  taken_serial_ = plan->serial;
  Pending& pending = queue_.emplace_back();
  pending.plan = plan;
  pending.taken_ns = now;
  const auto early = early_rows_.find(plan->plan.target);
  if (early != early_rows_.end()) {
    pending.arrived = true;
    early_rows_.erase(early);
  }
  if (overlap_) post_copies(now, pending);
  start_next(now);
}

void FfnWorker::on_rows(Nanos now, const Target& target) {
  for (Pending& pending : queue_) {
    if (pending.plan->plan.target != target) continue;
    pending.arrived = true;
    start_next(now);
    return;
  }
  early_rows_.insert(target);
}

// Binds slots and posts both ends of this worker's copies, in list order: what a slot means for later targets changes
// here, what it holds changes when the copy is done.
void FfnWorker::post_copies(Nanos now, Pending& pending) {
  pending.posted = true;
  const PublishedPlan& plan = *pending.plan;
  if (plan.plan.is_virtual) return;
  int index = 0;
  for (const Copy& copy : plan.plan.copies) post(now, {plan.serial, index++}, copy, plan.plan.target.layer);
  for (const AheadCopy& ahead : plan.plan.ahead) post(now, {plan.serial, index++}, ahead.copy, ahead.layer);
  bind_uses(pending);
  release_ready(now);
}

void FfnWorker::post(Nanos now, const CopyId& id, const Copy& copy, int layer_index) {
  Layer& layer = layers_[layer_index];
  AFORE_CHECK(!layer.slots.empty(), "a plan names a layer without a placement");
  if (copy.from == index_) {
    const int slot = find_slot(layer, copy.expert);
    AFORE_CHECK(slot != kNoSlot, "a copy leaves a worker that does not hold the expert");
    Slot& source = layer.slots[slot];
    outgoing_[id] = {copy, layer_index, now, false, -1, source.incoming, {}};
    source.last_reader = id;
    actions_.post_copy(index_, id, copy, false, layer_index, slot);
  }
  if (copy.to == index_) {
    const int slot = slot_index(layer, copy);
    Slot& filled = layer.slots[slot];
    incoming_[id] = {copy, layer_index, now, false, filled.last_user, filled.last_reader, {}};
    filled.expert = copy.expert;
    filled.incoming = id;
    actions_.post_copy(index_, id, copy, true, layer_index, slot);
  }
}

void FfnWorker::bind_uses(Pending& pending) {
  const PublishedPlan& plan = *pending.plan;
  Layer& layer = layers_[plan.plan.target.layer];
  for (const PublishedPlan::Share& share : plan.of(index_)) {
    const int slot = find_slot(layer, share.expert);
    AFORE_CHECK(slot != kNoSlot, "a plan gives work to a worker that does not hold the expert");
    layer.slots[slot].last_user = plan.serial;
    pending.slots.push_back(slot);
    const auto awaited = incoming_.find(layer.slots[slot].incoming);
    if (awaited == incoming_.end()) continue;
    awaited->second.awaited_by.push_back(plan.serial);
    pending.copies_awaited += 1;
  }
}

bool FfnWorker::can_release(const Transfer& transfer, bool receives) const {
  if (receives) return finished_serial_ >= transfer.wait_user && !outgoing_.contains(transfer.wait_copy);
  return !incoming_.contains(transfer.wait_copy);
}

void FfnWorker::release_ready(Nanos now) {
  for (auto& [id, transfer] : outgoing_) {
    if (transfer.released || !can_release(transfer, false)) continue;
    transfer.released = true;
    actions_.release_copy(index_, id, false);
  }
  for (auto& [id, transfer] : incoming_) {
    if (transfer.released || !can_release(transfer, true)) continue;
    transfer.released = true;
    for (const std::int64_t serial : transfer.awaited_by)
      for (Pending& pending : queue_)
        if (pending.plan->serial == serial)
          pending.slot_wait_ns = std::max(pending.slot_wait_ns, now - transfer.taken_ns);
    actions_.release_copy(index_, id, true);
  }
}

void FfnWorker::on_copy_started(Nanos, const CopyId& id) {
  const auto it = incoming_.find(id);
  AFORE_CHECK(it != incoming_.end() && it->second.released, "a copy starts that was not released");
  AFORE_CHECK(finished_serial_ >= it->second.wait_user, "a copy overwrites a slot with pending work");
  slot_of(it->second).complete = kNoExpert;
}

void FfnWorker::on_copy_done(Nanos now, const CopyId& id, bool receives) {
  auto& transfers = receives ? incoming_ : outgoing_;
  const auto it = transfers.find(id);
  AFORE_CHECK(it != transfers.end(), "a copy is done that was not posted");
  const Transfer transfer = std::move(it->second);
  transfers.erase(it);
  if (receives) slot_of(transfer).complete = transfer.copy.expert;
  for (const std::int64_t serial : transfer.awaited_by) {
    for (Pending& pending : queue_) {
      if (pending.plan->serial != serial) continue;
      pending.copies_awaited -= 1;
      pending.copy_end_ns = now;
    }
  }
  release_ready(now);
  start_next(now);
}

void FfnWorker::start_next(Nanos now) {
  if (running_ || queue_.empty()) return;
  Pending& head = queue_.front();
  if (!head.arrived) return;
  if (head.free_ns < 0) head.free_ns = now;
  if (!head.posted) {
    head.taken_ns = now;  // without overlap the plan takes effect only here
    post_copies(now, head);
  }
  if (head.copies_awaited > 0) return;
  AFORE_CHECK(now == std::max(head.free_ns, head.copy_end_ns), "a target starts neither when free nor when copied");
  const Target& target = head.plan->plan.target;
  const auto shares = head.plan->of(index_);
  for (std::size_t i = 0; i < head.slots.size(); ++i)
    AFORE_CHECK(layers_.at(target.layer).slots[head.slots[i]].complete == shares[i].expert,
                "a target starts before a replica it uses is complete");
  running_ = true;
  started_ns_ = now;
  actions_.run_ffn(index_, target, head.plan->tiles[index_], static_cast<std::int64_t>(shares.size()), head.slots);
}

void FfnWorker::on_ffn_done(Nanos now, const Target& target) {
  AFORE_CHECK(running_ && queue_.front().plan->plan.target == target,
              "experts finished for a target that is not running");
  const Pending done = std::move(queue_.front());
  queue_.pop_front();
  running_ = false;
  finished_serial_ = done.plan->serial;
  actions_.send_outputs(index_, target);

  WorkerTimes times;
  times.ffn_ns = now - started_ns_;
  times.window_ns = done.free_ns - done.taken_ns;
  times.migration_ns = done.copy_end_ns < 0 ? 0 : done.copy_end_ns - done.taken_ns;
  times.exposed_ns = done.copy_end_ns < 0 ? 0 : std::max<Nanos>(0, done.copy_end_ns - done.free_ns);
  times.slot_wait_ns = done.slot_wait_ns;
  actions_.report(index_, target, times);
  release_ready(now);
  start_next(now);
}

}  // namespace afore::pipeline
