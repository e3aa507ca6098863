#include "afore-plan/explain.h"

#include <fmt/format.h>

#include <algorithm>

#include "placement/policy.h"
#include "util/error.h"

namespace afore::plan {
namespace {

double us(Nanos ns) { return static_cast<double>(ns) / 1000.0; }

// The objective's value when the target is split over `placement` as it stands.
placement::Decision standing(const Demand& demand, const LayerPlacement& placement, const cli::Setup& setup) {
  placement::Limits limits = setup.planner.limits;
  limits.copy_budget = 0;
  const std::vector<std::uint8_t> busy(placement.index_count(), 0);
  const std::vector<std::int64_t> last_used(placement.index_count(), -1);
  return placement::make_paper(limits)->decide(
      {demand.target, demand.counts, placement, busy, last_used, setup.cost, 0});
}

std::string describe_worker(const Plan& plan, int worker) {
  std::string text;
  for (const TileShare& share : plan.assignment)
    if (share.worker == worker) text += fmt::format("{}{}x{}", text.empty() ? "" : " ", share.expert, share.tiles);
  return text;
}

std::string bottleneck(const Plan& plan, const cli::Setup& setup) {
  const int workers = static_cast<int>(setup.cluster.ffn_workers);
  const WorkerLoads loads = worker_loads(plan.assignment, workers, setup.cost);
  int worst = 0;
  for (int w = 1; w < workers; ++w) {
    const Nanos a = setup.cost.ffn_ns(loads.tiles[w], loads.activated[w]),
                b = setup.cost.ffn_ns(loads.tiles[worst], loads.activated[worst]);
    if (a > b) worst = w;
  }
  return fmt::format(
      "bottleneck: worker {} with {} tiles of {} experts, {:.1f} us = {:.1f} + {} x {:.2f} + {} x {:.2f}\n  its work "
      "(expert x tiles): {}\n",
      worst, loads.tiles[worst], loads.activated[worst],
      us(setup.cost.ffn_ns(loads.tiles[worst], loads.activated[worst])), us(setup.cost.c0_ns), loads.tiles[worst],
      us(setup.cost.c1_ns), loads.activated[worst], us(setup.cost.c2_ns), describe_worker(plan, worst));
}

// What each copy saves: the objective without it, all others kept.
std::string copies(const Plan& plan, const Demand& demand, const LayerPlacement& before, const cli::Setup& setup) {
  if (plan.copies.empty()) return "copies: none\n";
  std::string text = fmt::format(
      "copies: {}, the last done {:.1f} us after the plan, window {:.1f} us ({}), exposed {:.1f} us\n",
      plan.copies.size(), us(plan.migration_ns), us(plan.window_ns), plan.window_source, us(plan.exposed_ns));
  for (std::size_t skip = 0; skip < plan.copies.size(); ++skip) {
    LayerPlacement without = before;
    for (std::size_t i = 0; i < plan.copies.size(); ++i)
      if (i != skip) without.set(plan.copies[i].to, plan.copies[i].slot, plan.copies[i].expert);
    const Copy& copy = plan.copies[skip];
    const int evicted = before.expert_at(copy.to, copy.slot);
    const bool awaited = std::any_of(plan.assignment.begin(), plan.assignment.end(), [&](const TileShare& share) {
      return share.expert == copy.expert && share.worker == copy.to;
    });
    if (!awaited) {
      text += fmt::format(
          "  expert {} from worker {} to worker {} slot {} ({}): for later targets, this one does not "
          "wait for it\n",
          copy.expert, copy.from, copy.to, copy.slot,
          evicted == kNoExpert ? "empty" : fmt::format("evicts expert {}", evicted));
      continue;
    }
    const placement::Decision decision = standing(demand, without, setup);
    text += fmt::format(
        "  expert {} from worker {} to worker {} slot {} ({}): without it {:.1f} us and {} tiles, so it saves {:.1f} "
        "us and {} tiles; it occupies both ports for {:.1f} us\n",
        copy.expert, copy.from, copy.to, copy.slot,
        evicted == kNoExpert ? "empty" : fmt::format("evicts expert {}", evicted), us(decision.ffn_ns_before),
        decision.max_tiles_before, us(decision.ffn_ns_before - plan.ffn_ns),
        decision.max_tiles_before - plan.max_tile_load, us(setup.cost.copy_ns));
  }
  return text;
}

std::string bound(const Plan& plan) {
  const bool tiles = plan.objective == Objective::tiles;
  std::string text =
      tiles ? fmt::format("bound: no plan within the limits is below {} tiles; this one has {}\n", plan.lower_bound,
                          plan.max_tile_load)
            : fmt::format("bound: no plan within the limits is below {:.1f} us; this one takes {:.1f} us\n",
                          us(plan.ffn_bound_ns), us(plan.ffn_ns));
  if (!plan.cut.empty())
    text += fmt::format("  proof: the work confined to workers {} cannot leave them\n", fmt::join(plan.cut, " "));
  if (plan.certified) return text + "certified: nothing better exists within slots, busy slots and copy budget\n";
  return text + fmt::format("not certified: up to {} may be left; the bound ignores which split would reach it\n",
                            tiles ? fmt::format("{} tiles", plan.max_tile_load - plan.lower_bound)
                                  : fmt::format("{:.1f} us", us(plan.ffn_ns - plan.ffn_bound_ns)));
}

// What the target's own time was given up for.
std::string levelled(const Plan& plan) {
  if (plan.backlog_ns.empty()) return "";
  const auto most = std::max_element(plan.backlog_ns.begin(), plan.backlog_ns.end());
  return fmt::format(
      "levelled: the last worker is done {:.1f} us after the target's arrival; of earlier targets worker "
      "{} has most left, {:.1f} us\n",
      us(plan.completion_ns), most - plan.backlog_ns.begin(), us(*most));
}

}  // namespace

Target parse_target(const std::string& text) {
  Target target;
  constexpr long long kMax = 1 << 30;
  char rest = 0;
  long long step = 0, layer = 0, microbatch = 0;
  const int fields = std::sscanf(text.c_str(), "%lld:%lld:%lld%c", &step, &layer, &microbatch, &rest);
  if (fields != 3 || step < 0 || layer < 0 || microbatch < 0 || layer > kMax || microbatch > kMax)
    throw Error(ErrorKind::usage, "--explain " + text + " is not a target",
                "give STEP:LAYER:MICROBATCH, for example 40:3:0");
  target.step = step;
  target.layer = static_cast<int>(layer);
  target.microbatch = static_cast<int>(microbatch);
  return target;
}

std::string explain(const Plan& plan, const Demand& demand, const LayerPlacement& before, const cli::Setup& setup) {
  std::string text =
      fmt::format("target step {} layer {} microbatch {}: {} tokens, policy {}, objective {}\n", plan.target.step,
                  plan.target.layer, plan.target.microbatch, demand.tokens, plan.policy, to_string(plan.objective));
  text += fmt::format("without copies: {:.1f} us, {} tiles; with this plan: {:.1f} us, {} tiles; net gain {:.1f} us\n",
                      us(plan.ffn_ns_before), plan.max_tile_load_before, us(plan.ffn_ns), plan.max_tile_load,
                      us(plan.gain_ns));
  text += bottleneck(plan, setup);
  text += levelled(plan);
  if (!plan.is_virtual && !plan.rehomes) text += copies(plan, demand, before, setup);
  return text + bound(plan);
}

}  // namespace afore::plan
