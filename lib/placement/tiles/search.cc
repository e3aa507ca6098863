#include "placement/tiles/search.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "placement/tiles/split.h"

namespace afore::placement::tiles {

void CopySearch::prepare() {
  const ReplicaTable& table = flow_->standing().table;
  sorted_.clear();
  total_ = 0;
  class_.resize(flow_->experts());
  reach_.assign(flow_->workers(), 0);
  for (int e = 0; e < flow_->experts(); ++e) {
    if (flow_->tiles(e) == 0) continue;
    total_ += flow_->tiles(e);
    if (copyable(e)) sorted_.push_back(e);
    for (int id = table.first(e), end = id + table.count(e); id < end; ++id)
      reach_[flow_->worker(id)] += flow_->tiles(e);
    // Experts with one replica are alike where it is; one with several is a class of its own.
    class_[e] = table.count(e) == 1 ? table.worker(table.first(e)) : flow_->workers() + e;
  }
  std::sort(sorted_.begin(), sorted_.end(), [&](int a, int b) {
    return flow_->tiles(a) != flow_->tiles(b) ? flow_->tiles(a) > flow_->tiles(b) : a < b;
  });
  class_taken_.assign(flow_->workers() + flow_->experts(), 0);
  class_last_.assign(class_taken_.size(), -1);
  open_ = slots_->room().open;
  open_total_ = slots_->room().total;
  copied_.assign(flow_->experts(), 0);
  forbidden_.assign(pair(flow_->experts(), 0), 0);
  forbids_.clear();
  made_.clear();
}

CopySearch::Verdict CopySearch::run(Flow& flow, OpenSlots& slots, std::span<const std::uint8_t> pinned, Tiles limit,
                                    std::int64_t nodes) {
  flow_ = &flow;
  slots_ = &slots;
  pinned_ = pinned;
  limit_ = limit;
  budget_ = nodes;
  nodes_ = 0;
  prepare();
  return descend(0);
}

void CopySearch::undo(Flow& flow, OpenSlots& slots) {
  for (auto made = made_.rbegin(); made != made_.rend(); ++made) {
    flow.drop_copy();
    slots.release(flow, made->slot);
  }
  made_.clear();
}

// Room that cannot be used, whatever is copied: with the largest experts everywhere, each worker's load is at most its
// reach, and the loads must hold all tiles. Also leaves each worker's share in unused_.
bool CopySearch::cold_allows(int copies) {
  gains_.clear();
  unused_.resize(flow_->workers());
  std::int64_t capacity = 0;
  for (int w = 0; w < flow_->workers(); ++w) {
    std::int64_t room = limit_ - std::min<std::int64_t>(limit_, reach_[w]);
    capacity += limit_ - room;
    const int most = std::min(open_[w], copies);
    for (int k = 0; room > 0 && k < most && k < static_cast<int>(sorted_.size()); ++k) {
      const auto gain = static_cast<Tiles>(std::min<std::int64_t>(room, flow_->tiles(sorted_[k])));
      gains_.push_back(gain);
      room -= gain;
    }
    unused_[w] = room;
  }
  if (static_cast<int>(gains_.size()) > copies)
    std::nth_element(gains_.begin(), gains_.begin() + copies, gains_.end(), std::greater<>());
  const auto used = gains_.begin() + std::min<std::ptrdiff_t>(copies, std::ssize(gains_));
  return std::accumulate(gains_.begin(), used, capacity) >= total_;
}

// The closed set reached last: what is confined to it, less the largest experts that copies could take out.
bool CopySearch::hot_allows(int copies) {
  std::int64_t excess = 0;
  int outside = open_total_;
  for (const int w : flow_->reached()) {
    excess += flow_->load(w) - limit_;
    outside -= open_[w];
  }
  copies = std::min(copies, outside);
  for (const int e : sorted_) {
    if (excess <= 0 || copies == 0) break;
    const bool confined = !flow_->of_expert(e, [&](int id) { return !flow_->in_reached(flow_->worker(id)); });
    if (!confined) continue;
    excess -= flow_->tiles(e);
    --copies;
  }
  return excess <= 0;
}

void CopySearch::offer(int expert, int worker, std::vector<Candidate>& out) const {
  if (open_[worker] == 0 || forbidden_[pair(expert, worker)] || flow_->holds(expert, worker)) return;
  const Tiles room = std::max(0, limit_ - flow_->load(worker));
  out.push_back({expert, worker, std::min(room, flow_->tiles(expert))});
}

void CopySearch::open_classes() {
  std::fill(class_taken_.begin(), class_taken_.end(), 0);
  std::fill(class_last_.begin(), class_last_.end(), -1);
}

// In order of size: whether the expert is worth a copy beside those of its class before it. Of a class only the largest
// members: a solution with a smaller one and not the larger holds with the two exchanged, and it has at most `copies`
// more. Of members alike in size one will do.
bool CopySearch::stands_for_class(int expert, int copies) {
  if (touched(expert)) return true;
  const int kind = class_[expert];
  if (class_taken_[kind]++ >= copies) return false;
  const bool alike = class_last_[kind] == flow_->tiles(expert);
  class_last_[kind] = flow_->tiles(expert);
  return !alike;
}

void CopySearch::list_hot(int copies, std::vector<Candidate>& out) {
  open_classes();
  for (const int e : sorted_) {
    const bool confined = !flow_->of_expert(e, [&](int id) { return !flow_->in_reached(flow_->worker(id)); });
    if (!confined || !stands_for_class(e, copies)) continue;
    for (int w = 0; w < flow_->workers(); ++w)
      if (!flow_->in_reached(w)) offer(e, w, out);
  }
}

// Replaces `out` by the ways to fill a worker that must be filled, where they are fewer.
void CopySearch::list_cold(int copies, std::vector<Candidate>& out) {
  std::int64_t spare = std::int64_t{limit_} * flow_->workers() - total_;
  for (const std::int64_t unused : unused_) spare -= unused;
  for (int w = 0; w < flow_->workers(); ++w) {
    if (open_[w] == 0) continue;
    const std::int64_t must = limit_ - reach_[w] - (spare + unused_[w]);
    if (must <= 0) continue;
    const std::int64_t least = ceil_div(must, std::min(open_[w], copies));
    open_classes();
    cold_.clear();
    for (const int e : sorted_) {
      if (flow_->tiles(e) < least || cold_.size() >= out.size()) break;
      if (stands_for_class(e, copies)) offer(e, w, cold_);
    }
    if (cold_.size() < out.size()) out = cold_;
  }
}

CopySearch::Verdict CopySearch::descend(int depth) {
  if (++nodes_ > budget_) return Verdict::unknown;
  if (split_within(*flow_, limit_)) return Verdict::found;
  const int copies = slots_->room().copies - depth;
  if (copies == 0 || !cold_allows(copies) || !hot_allows(copies)) return Verdict::none;
  if (static_cast<int>(levels_.size()) <= depth) levels_.resize(depth + 1);
  std::vector<Candidate>& list = levels_[depth].candidates;
  list.clear();
  list_hot(copies, list);
  list_cold(copies, list);
  // What brings most first; forbidden for those after it, once refuted.
  std::sort(list.begin(), list.end(), [&](const Candidate& a, const Candidate& b) {
    if (a.amount != b.amount) return a.amount > b.amount;
    if (flow_->tiles(a.expert) != flow_->tiles(b.expert)) return flow_->tiles(a.expert) < flow_->tiles(b.expert);
    return a.worker != b.worker ? a.worker < b.worker : a.expert < b.expert;
  });
  flow_->save(levels_[depth].saved);
  const std::size_t mark = forbids_.size();
  Verdict verdict = Verdict::none;
  for (std::size_t i = 0; verdict == Verdict::none && i < levels_[depth].candidates.size(); ++i) {
    const Candidate candidate = levels_[depth].candidates[i];
    verdict = try_copy(depth, candidate);
    forbids_.push_back(pair(candidate.expert, candidate.worker));
    forbidden_[forbids_.back()] = 1;
  }
  for (; forbids_.size() > mark; forbids_.pop_back()) forbidden_[forbids_.back()] = 0;
  return verdict;
}

// The copy into an empty slot, or over each replica it could evict.
CopySearch::Verdict CopySearch::try_copy(int depth, const Candidate& candidate) {
  const Standing& standing = flow_->standing();
  const int first = standing.slot_first[candidate.worker], last = standing.slot_first[candidate.worker + 1];
  const auto free = [&](int slot) {
    return !slots_->closed(slot) && (standing.slots[slot].empty || standing.slots[slot].replica == Standing::kNone);
  };
  int only = first;
  while (only < last && !free(only)) ++only;
  Verdict verdict = Verdict::none;
  for (int slot = only < last ? only : first; verdict == Verdict::none && slot < last; ++slot) {
    if (slots_->closed(slot)) continue;
    const int evicted = standing.slots[slot].replica;
    const int lost = evicted == Standing::kNone ? -1 : flow_->expert(evicted);
    if (lost >= 0) {
      if (flow_->part(evicted) > 0) flow_->move(evicted, standing.table.first(lost), flow_->part(evicted));
      reach_[candidate.worker] -= flow_->tiles(lost);
      ++copied_[lost];
    }
    slots_->take(*flow_, slot);
    flow_->add(candidate.expert, candidate.worker);
    made_.push_back({candidate.expert, candidate.worker, slot});
    ++copied_[candidate.expert];
    reach_[candidate.worker] += flow_->tiles(candidate.expert);
    --open_[candidate.worker];
    --open_total_;

    verdict = descend(depth + 1);

    reach_[candidate.worker] -= flow_->tiles(candidate.expert);
    --copied_[candidate.expert];
    ++open_[candidate.worker];
    ++open_total_;
    if (lost >= 0) {
      reach_[candidate.worker] += flow_->tiles(lost);
      --copied_[lost];
    }
    if (verdict != Verdict::found) {
      made_.pop_back();
      flow_->drop_copy();
      slots_->release(*flow_, slot);
      flow_->restore(levels_[depth].saved);
    }
    if (only < last) break;
  }
  return verdict;
}

}  // namespace afore::placement::tiles
