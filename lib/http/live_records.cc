#include "http/live_records.h"

#include <algorithm>

#include "wire/wire.h"

namespace afore::http {
namespace {

// Steps that a reader waits for experts to have changed places. One policy that took over midway from another may leave
// a staging buffer as it is, so the wait has an end.
constexpr int kMostHeldBack = 100;

PlacementRecord record_of(int layer, const LayerPlacement& map) {
  return {layer, map.slots_per_worker(), map.physical_to_logical()};
}

}  // namespace

LiveRecords::LiveRecords(const Header& header)
    : header_(wire::to_json(header) + '\n'),
      experts_(static_cast<int>(header.model.experts)),
      workers_(static_cast<int>(header.cluster.ffn_workers)) {}

std::string LiveRecords::beginning() const {
  std::string lines = header_;
  for (const auto& [layer, map] : maps_) lines += wire::to_json(record_of(layer, map)) + '\n';
  return lines;
}

// Placement records have regular slots alone: while experts change places by a staging buffer, they do not say all.
bool LiveRecords::is_between() const {
  for (const auto& [layer, map] : maps_)
    for (int w = 0; w < map.workers(); ++w) {
      const int staged = map.expert_at(w, kStagingSlot);
      if (staged != kNoExpert && map.slot_of(staged, w) == kStagingSlot) return true;
    }
  return false;
}

// Its map as it stands; what is left in staging buffers serves nothing any more.
void LiveRecords::set_map(const PlacementRecord& record) {
  maps_.insert_or_assign(record.layer,
                         LayerPlacement::from_physical(experts_, workers_, static_cast<int>(record.slots_per_worker),
                                                       record.physical_to_logical));
}

// Where a step begins.
void LiveRecords::let_in(std::int64_t step) {
  if (step == step_) return;
  step_ = step;
  if (waiting_.empty() || (is_between() && ++held_back_ < kMostHeldBack)) return;
  held_back_ = 0;
  const auto lines = std::make_shared<const std::string>(beginning());
  for (Backend::LineSink& sink : waiting_)
    if (sink(lines)) readers_.push_back(std::move(sink));
  waiting_.clear();
}

void LiveRecords::put(const std::string& lines) {
  const auto shared = std::make_shared<const std::string>(lines);
  std::erase_if(readers_, [&](const Backend::LineSink& sink) { return !sink(shared); });
}

void LiveRecords::planned(const Batch* batch, const Demand& demand, const pipeline::PlannedTarget& planned) {
  const std::lock_guard lock(mutex_);
  let_in(demand.target.step);
  if (!readers_.empty()) {
    std::string lines;
    if (batch != nullptr) lines += wire::to_json(*batch) + '\n';
    lines += wire::to_json(demand) + '\n';
    if (planned.before) lines += wire::to_json(*planned.before) + '\n';
    lines += wire::to_json(planned.plan) + '\n';
    if (planned.completed) lines += wire::to_json(*planned.completed) + '\n';
    put(lines);
  }
  if (planned.before) set_map(*planned.before);
  if (planned.plan.is_virtual) return;
  const auto map = maps_.find(demand.target.layer);
  if (map == maps_.end()) return;
  for (const Copy& copy : planned.plan.copies) map->second.set(copy.to, copy.slot, copy.expert);
  for (const AheadCopy& ahead : planned.plan.ahead)
    if (const auto other = maps_.find(ahead.layer); other != maps_.end())
      other->second.set(ahead.copy.to, ahead.copy.slot, ahead.copy.expert);
  if (planned.completed) set_map(*planned.completed);
}

void LiveRecords::observed(const Observed& observed) {
  const std::lock_guard lock(mutex_);
  if (!readers_.empty()) put(wire::to_json(observed) + '\n');
}

void LiveRecords::end(const Summary& summary) {
  const std::lock_guard lock(mutex_);
  put(wire::to_json(summary) + '\n');
  for (Backend::LineSink& sink : waiting_) readers_.push_back(std::move(sink));
  waiting_.clear();
  for (Backend::LineSink& sink : readers_) sink(nullptr);
  readers_.clear();
}

void LiveRecords::subscribe(Backend::LineSink sink) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(sink));
}

std::vector<PlacementRecord> LiveRecords::placements() const {
  const std::lock_guard lock(mutex_);
  std::vector<PlacementRecord> records;
  records.reserve(maps_.size());
  for (const auto& [layer, map] : maps_) records.push_back(record_of(layer, map));
  return records;
}

}  // namespace afore::http
