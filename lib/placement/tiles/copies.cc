#include "placement/tiles/copies.h"

#include <algorithm>

#include "placement/tiles/split.h"

namespace afore::placement::tiles {
namespace {

constexpr Tiles kSingleSteps = 3;  // limits tried one by one before the steps grow

}  // namespace

namespace {

Nanos per_tile(const CopyCall& call) { return std::max<Nanos>(1, call.request.cost.c1_ns); }

}  // namespace

Nanos net_gain(const CopyCall& call, std::span<const Made> copies, Tiles load, std::vector<Copy>& scratch) {
  const Nanos saved = per_tile(call) * (call.base - load);
  if (!call.gain_rule) return saved;
  scratch.clear();
  for (const Made& made : copies)
    scratch.push_back({made.expert, call.request.placement.primary(made.expert), made.worker, 0});
  const Nanos migration =
      migration_ns(scratch, call.request.placement.workers(), call.request.cost, call.request.workers);
  return saved - std::max<Nanos>(0, migration - call.request.window_ns);
}

// At least one copy is made.
Nanos CopyChooser::most_gain(const CopyCall& call, Tiles limit) const {
  const Nanos least_exposed =
      call.gain_rule ? std::max<Nanos>(0, call.request.cost.copy_ns - call.request.window_ns) : 0;
  return per_tile(call) * (call.base - limit) - least_exposed;
}

// Offers the copies in offered_, which reach `limit`. A prefix that reached it would have ended the search there; so
// only where copies are exposed are prefixes worth a look, each with the load it reaches by an exact split.
void CopyChooser::consider(Flow& flow, OpenSlots& slots, const CopyCall& call, Tiles limit) {
  const auto offer = [&](std::size_t copies, Tiles load) {
    const std::span<const Made> prefix = std::span(offered_).first(copies);
    const Nanos gain = net_gain(call, prefix, load, copies_);
    if (gain <= 0 || gain < best_gain_ || (gain == best_gain_ && copies >= chosen_.size())) return gain;
    best_gain_ = gain;
    best_load_ = load;
    chosen_.assign(prefix.begin(), prefix.end());
    work_at_ = kNoWork;
    return gain;
  };
  const Nanos before = best_gain_;
  const std::size_t copies_before = chosen_.size();
  const Nanos all = offer(offered_.size(), limit);
  if (best_gain_ != before || chosen_.size() != copies_before) {
    chosen_work_ = offered_work_;
    work_at_ = limit;
  }
  if (all == per_tile(call) * (call.base - limit)) return;
  for (std::size_t copies = 1; copies <= offered_.size(); ++copies) {
    const Made& made = offered_[copies - 1];
    slots.take(flow, made.slot);
    flow.add(made.expert, made.worker);
    flow.restart(call.home_load);
    offer(copies, split(flow, call.bound, cut_));
  }
  for (auto made = offered_.rbegin(); made != offered_.rend(); ++made) {
    flow.drop_copy();
    slots.release(flow, made->slot);
  }
}

// Each copy brings the closed workers at most a receiver's room.
int CopyChooser::fewest_copies(const Flow& flow, const OpenSlots& slots, Tiles limit) const {
  Tiles excess = 0, room = 1;
  for (int w = 0; w < flow.workers(); ++w) {
    excess += std::max(0, flow.load(w) - limit);
    if (slots.room().open[w] > 0) room = std::max(room, limit - flow.load(w));
  }
  return static_cast<int>(ceil_div(excess, room));
}

// All rules at one limit.
bool CopyChooser::any_rule(Flow& flow, OpenSlots& slots, const CopyCall& call, Tiles limit) {
  // From the split without copies the excess is spread over many donors, from the other start it is on few.
  return any_rule(flow, slots, call, limit, call.at_floor) || any_rule(flow, slots, call, limit, call.at_base);
}

bool CopyChooser::any_rule(Flow& flow, OpenSlots& slots, const CopyCall& call, Tiles limit, const Flow::Saved& from) {
  flow.restore(from);
  if (&from != &call.at_floor || limit > call.floor) lower_to(flow, limit);
  merge_parts(flow, limit);  // idle replicas give their slots
  flow.save(start_);
  const int fewest = fewest_copies(flow, slots, limit);
  const bool tried = failed_once_ && &from == &call.at_floor && limit == call.floor;
  bool reached = false, first = true;
  for (const Rule rule : kRules) {
    if (tried && rule == kRules[0]) continue;
    if (!first) flow.restore(start_);
    first = false;
    const int most = reached ? static_cast<int>(offered_.size()) - 1 : slots.room().copies;
    const bool ok = probe_.run(flow, slots, call.request.pinned, limit, rule, most);
    if (ok) keep(flow, probe_.made());
    probe_.undo(flow, slots);
    if (ok) consider(flow, slots, call, limit);
    reached = reached || ok;
    if (reached && static_cast<int>(offered_.size()) <= fewest) break;
  }
  return reached;
}

// No copies with this load gain more, or as much with fewer.
bool CopyChooser::hopeless(const CopyCall& call, Tiles limit) const {
  const Nanos most = most_gain(call, limit);
  return most <= 0 || most < best_gain_ || (most == best_gain_ && chosen_.size() <= 1);
}

void CopyChooser::scan(Flow& flow, OpenSlots& slots, const CopyCall& call) {
  Tiles failed = call.bound - 1, limit = call.bound, step = 1;
  while (limit < call.base && !hopeless(call, limit)) {
    if (any_rule(flow, slots, call, limit)) {
      // Between the last two limits, the least that a rule reaches.
      Tiles reached = limit;
      while (reached - failed > 1) {
        const Tiles middle = failed + (reached - failed) / 2;
        if (any_rule(flow, slots, call, middle)) reached = middle;
        else failed = middle;
      }
    }
    failed = limit;
    if (limit - call.bound >= kSingleSteps) step += std::max<Tiles>(1, step / 2);
    limit += step;
  }
}

// Loads between what is proven and what is reached, upwards: each is refuted, or it is the least.
void CopyChooser::close_gap(Flow& flow, OpenSlots& slots, const CopyCall& call) {
  bool refuting = true;
  for (Tiles limit = call.bound; limit < best_load_ && !hopeless(call, limit); ++limit) {
    const std::int64_t nodes = ceil_div(call.node_budget - nodes_, 2);
    if (nodes <= 0) break;
    flow.restore(call.at_floor);
    const CopySearch::Verdict verdict = search_.run(flow, slots, call.request.pinned, limit, nodes);
    nodes_ += std::min(nodes, search_.nodes());
    const bool found = verdict == CopySearch::Verdict::found;
    if (found) keep(flow, search_.made());
    search_.undo(flow, slots);
    if (found) consider(flow, slots, call, limit);
    if (found) break;
    refuting = refuting && verdict == CopySearch::Verdict::none;
    if (refuting) proven_ = limit + 1;
    budget_hit_ = budget_hit_ || verdict == CopySearch::Verdict::unknown;
  }
}

void CopyChooser::keep(const Flow& flow, std::span<const Made> made) {
  offered_.assign(made.begin(), made.end());
  flow.save(offered_work_);
}

void CopyChooser::start(const CopyCall& call) {
  work_at_ = kNoWork;
  failed_once_ = false;
  chosen_.clear();
  best_gain_ = 0;
  best_load_ = call.base;
  proven_ = call.bound;
  nodes_ = 0;
  budget_hit_ = false;
}

bool CopyChooser::at_once(Flow& flow, OpenSlots& slots, const CopyCall& call) {
  flow.restore(call.at_floor);
  merge_parts(flow, call.bound);
  const bool reached = probe_.run(flow, slots, call.request.pinned, call.bound, kRules[0], slots.room().copies);
  if (reached) keep(flow, probe_.made());
  failed_once_ = !reached;
  probe_.undo(flow, slots);
  if (!reached || net_gain(call, offered_, call.bound, copies_) != per_tile(call) * (call.base - call.bound))
    return false;
  consider(flow, slots, call, call.bound);
  return true;
}

void CopyChooser::choose(Flow& flow, OpenSlots& slots, const CopyCall& call) {
  proven_ = call.bound;
  if (most_gain(call, call.bound) <= 0) return;
  scan(flow, slots, call);
  if (call.node_budget > 0) close_gap(flow, slots, call);
}

}  // namespace afore::placement::tiles
