// What goes wrong in a simulated run, and how it goes on without the workers that are lost.
#include <algorithm>

#include "host/sim_impl.h"
#include "util/error.h"

namespace afore::host {
namespace {

constexpr std::int64_t kReloadSerial = -2;  // of reloads among copies; no plan has it

}  // namespace

// Events of targets and copies that an epoch has dropped, and everything that a lost worker would do.
bool SimHost::Impl::is_void(const Event& event) const {
  switch (event.kind) {
    case EventKind::planned: return event.epoch != epoch;
    case EventKind::plan_available:
    case EventKind::rows:
    case EventKind::ffn_done:
    case EventKind::copy_noticed:
    case EventKind::copy_released:
    case EventKind::reloaded: return event.epoch != epoch || !alive[event.worker];
    case EventKind::copy_done: {
      if (event.epoch != epoch) return true;
      const Copy& copy = ports.copy({event.serial, event.index});
      return !alive[copy.from] || !alive[copy.to];
    }
    default: return false;
  }
}

void SimHost::Impl::schedule_loss(const Fault& fault) {
  if (fault.kind != FaultKind::kill) return;
  events.push(fault.at_ns, caused(EventKind::worker_lost, fault.worker, 0));
  events.push(fault.at_ns + fault.length_ns, caused(EventKind::loss_noticed, fault.worker, 0));
}

std::map<int, std::vector<int>> SimHost::Impl::inventories() {
  std::map<int, std::vector<int>> complete;
  for (const auto& [layer, placed] : placed_layers) {
    if (!placed) continue;
    const std::vector<int> nothing(plans.placement(layer).index_count() / ffn.size(), kNoExpert);
    std::vector<int>& all = complete[layer];
    for (int w = 0; w < ffn_count(); ++w) {
      const std::vector<int> slots = alive[w] ? ffn[w].inventory(layer) : nothing;
      all.insert(all.end(), slots.begin(), slots.end());
    }
  }
  return complete;
}

// Reloads of one worker follow each other, the layer that runs next first.
void SimHost::Impl::set_maps(const pipeline::Recovery& recovery, int first_layer, Membership& record) {
  for (const auto& [layer, recovered] : recovery) {
    placed_layers[layer] = true;
    for (int w = 0; w < ffn_count(); ++w)
      if (members[w]) ffn[w].set_placement(layer, recovered.placement);
  }
  std::vector<Nanos> busy_until(ffn_count(), now());
  int index = 0;
  const auto first = recovery.lower_bound(first_layer);
  const auto reload_layer = [&](const pipeline::LayerRecovery& recovered) {
    for (const pipeline::Reload& reload : recovered.reloads) {
      busy_until[reload.worker] += options.reload_ns;
      ffn[reload.worker].on_reload(reload.layer, reload.slot, {kReloadSerial, index});
      events.push(clock.notices('F', reload.worker, FaultClock::Lane::copy_in, busy_until[reload.worker]),
                  caused(EventKind::reloaded, reload.worker, kReloadSerial, index));
      record.reloads.push_back({reload.layer, reload.expert, reload.worker, reload.slot});
      ++index;
    }
  };
  for (auto it = first; it != recovery.end(); ++it) reload_layer(it->second);
  for (auto it = recovery.begin(); it != first; ++it) reload_layer(it->second);
  record.reload_ns = *std::max_element(busy_until.begin(), busy_until.end()) - now();
}

// The survivors tell what they hold whole; every layer gets a map without the lost workers; targets whose outputs are
// not back run again with new plans, in the same order. Their hidden states are still with the attention workers, which
// send them again. Nothing of the old epoch is heard after this.
void SimHost::Impl::end_epoch() {
  if (members == alive) return;  // another loss was noticed in the same round
  Membership record;
  for (int w = 0; w < ffn_count(); ++w) {
    if (!members[w] || alive[w]) continue;
    record.lost_workers.push_back(w);
    ring.lose(w);
  }
  members = alive;
  member_count = static_cast<int>(std::count(members.begin(), members.end(), true));
  record.epoch = ++epoch;
  record.at_ns = now();
  record.abandoned_copies = ports.abandon_all();
  traffic.abandon_all();
  metrics.copies().on_abandoned(now());
  running_copies.clear();
  ring.clear();

  std::vector<Demand> redo;
  std::int64_t first = first_flight;
  while (first < next_serial && flight(first).returned) ++first;
  for (std::int64_t serial = first; serial < next_serial; ++serial) {
    Flight& f = flight(serial);
    f.plan = nullptr;
    if (!f.published) continue;
    redo.push_back(f.demand);
    f.published = false;
    f.f2a_joined = 0;
    f.f2a_last_start_ns = f.f2a_last_sent_ns = 0;
    metrics.forget(f.demand.target);
  }
  record.redone_targets = static_cast<std::int64_t>(redo.size());

  const pipeline::Recovery recovery = plans.lose_workers(alive, inventories());
  for (int w = 0; w < ffn_count(); ++w) {
    ffn[w].on_epoch(first);
    taken_serial[w] = first - 1;
  }
  set_maps(recovery, first < next_serial ? flight(first).demand.target.layer : 0, record);
  redone_targets += record.redone_targets;
  abandoned_copies += record.abandoned_copies;
  reloaded_experts += static_cast<std::int64_t>(record.reloads.size());
  if (sink.membership) sink.membership(record);
  scheduler.on_epoch(redo);
  retire_flights();
}

}  // namespace afore::host
