#include "report/timeline.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <string_view>
#include <tuple>
#include <utility>

namespace afore::report {
namespace {

constexpr int kMostWorkers = 1 << 20;  // as in every record
constexpr std::int64_t kMostSlices = std::int64_t{1} << 18;
constexpr std::int64_t kStepsOpen =
    3;  // a step is whole when the third one after it has begun: copies may outlive their step

constexpr std::array<std::pair<std::string_view, Lane>, 4> kLanes = {
    {{"compute", Lane::compute}, {"copy", Lane::copy}, {"a2f", Lane::a2f}, {"f2a", Lane::f2a}}};

Work work_of(std::string_view op, Lane lane) {
  if (lane == Lane::copy) return Work::copy;
  if (lane != Lane::compute) return Work::link;
  if (op == "attention") return Work::attention;
  if (op == "sampling") return Work::sampling;
  return op == "expert_ffn" ? Work::expert_ffn : Work::other;
}

}  // namespace

std::optional<Slice> slice_of(const Operation& operation) {
  Slice slice;
  const std::string& name = operation.worker;
  if (name.size() < 2 || (name[0] != 'A' && name[0] != 'F')) return std::nullopt;
  const auto [end, error] = std::from_chars(name.data() + 1, name.data() + name.size(), slice.worker);
  if (error != std::errc() || end != name.data() + name.size() || slice.worker < 0 || slice.worker >= kMostWorkers)
    return std::nullopt;
  const auto lane =
      std::find_if(kLanes.begin(), kLanes.end(), [&](const auto& l) { return l.first == operation.lane; });
  if (lane == kLanes.end()) return std::nullopt;
  slice.pool = name[0];
  slice.lane = lane->second;
  slice.work = work_of(operation.op, slice.lane);
  slice.start_ns = operation.start_ns;
  slice.end_ns = operation.end_ns;
  slice.step = operation.target.step;
  slice.layer = operation.target.layer;
  slice.microbatch = operation.target.microbatch;
  return slice;
}

// Full once nothing was freed: the stride stays what it was, what comes is left out, and no pass is made per slice.
void TimelinePicker::thin(Step& step) const {
  const int stride = step.stride * 2;
  const auto freed =
      std::erase_if(step.slices, [&](const Slice& s) { return s.lane != Lane::copy && s.worker % stride != 0; });
  if (freed == 0) step.full = true;
  else step.stride = stride;
}

// Copies have their own room, so that neither crowds the other out; what is beyond it is left out.
void TimelinePicker::keep(Step& step, const Slice& slice) const {
  if (slice.lane == Lane::copy) {
    if (step.copies++ < kMostSlices) step.slices.push_back(slice);
    return;
  }
  const auto others = [&] {
    return static_cast<std::int64_t>(step.slices.size()) - std::min(step.copies, kMostSlices);
  };
  if (slice.worker % step.stride != 0) return;
  if (others() >= kMostSlices && !step.full) thin(step);
  if (others() < kMostSlices && slice.worker % step.stride == 0) step.slices.push_back(slice);
}

void TimelinePicker::add(const Slice& slice) {
  any_ = true;
  int& workers = slice.pool == 'A' ? attention_workers_ : ffn_workers_;
  workers = std::max(workers, slice.worker + 1);
  if (wanted_ && (slice.step < *wanted_ - 1 || slice.step > *wanted_ + 1)) return;
  if (slice.step <= judged_ - kStepsOpen) return;  // far behind: a step that was judged without it
  keep(recent_[slice.step], slice);
  if (slice.step > newest_) settle(newest_ = slice.step);
}

// Judges the steps that are whole by now, and forgets those that no step to come has as a neighbour.
void TimelinePicker::settle(std::int64_t newest) {
  while (!recent_.empty()) {
    const auto next = recent_.upper_bound(judged_);
    if (next == recent_.end() || next->first > newest - kStepsOpen) break;
    judge(judged_ = next->first);
  }
  while (!recent_.empty() && recent_.begin()->first < judged_) recent_.erase(recent_.begin());
}

void TimelinePicker::judge(std::int64_t number) {
  const bool measured = number > last_warmup_;
  const std::int64_t copies = recent_[number].copies;
  if (wanted_ ? number != *wanted_ : std::pair(measured, copies) <= std::pair(best_measured_, best_copies_)) return;
  best_step_ = number;
  best_measured_ = measured;
  best_copies_ = copies;
  best_.clear();
  for (const auto& [step, kept] : recent_)
    if (step >= number - 1 && step <= number + 1) best_.emplace(step, kept);
}

Timeline TimelinePicker::finish() {
  settle(std::numeric_limits<std::int64_t>::max() - kStepsOpen);
  Timeline timeline;
  timeline.attention_workers = attention_workers_;
  timeline.ffn_workers = ffn_workers_;
  timeline.step = best_step_;
  if (best_step_ < 0) return timeline;
  int stride = 1;  // the same workers in all steps
  for (const auto& [number, step] : best_) stride = std::max(stride, step.stride);
  for (auto& [number, step] : best_)
    for (const Slice& slice : step.slices)
      if (slice.lane == Lane::copy || slice.worker % stride == 0) timeline.slices.push_back(slice);
  timeline.from_ns = std::numeric_limits<Nanos>::max();
  for (const Slice& slice : timeline.slices) {
    if (slice.step != timeline.step) continue;
    timeline.from_ns = std::min(timeline.from_ns, slice.start_ns);
    timeline.to_ns = std::max(timeline.to_ns, slice.end_ns);
  }
  std::erase_if(timeline.slices, [&](const Slice& s) {
    return s.step != timeline.step && (s.end_ns <= timeline.from_ns || s.start_ns >= timeline.to_ns);
  });
  std::sort(timeline.slices.begin(), timeline.slices.end(), [](const Slice& a, const Slice& b) {
    const auto key = [](const Slice& s) { return std::tuple(s.start_ns, s.pool, s.worker, s.lane, s.end_ns, s.step); };
    return key(a) < key(b);
  });
  return timeline;
}

}  // namespace afore::report
