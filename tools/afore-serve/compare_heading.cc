#include "afore-serve/compare_heading.h"

#include <fmt/format.h>

#include "common/messages.h"

namespace afore::serve {
namespace {

std::string devices(const ServeFlags& flags, const cli::Setup& setup) {
  const ClusterSpec& c = setup.cluster;
  if (flags.topology == "colocated") return fmt::format("{} ranks of attention and FFN", c.ffn_workers);
  return fmt::format("{} attention + {} FFN workers", c.attention_workers, c.ffn_workers);
}

// What changes every row and shows in none.
std::string unusual_flags(const ServeFlags& flags) {
  std::string text;
  if (flags.planning.split == "exact") text += "other systems' policies split exactly\n";
  if (!flags.planning.init.empty()) text += fmt::format("layers start with the maps of {}\n", flags.planning.init);
  if (flags.planning.primaries != "auto") text += fmt::format("{} primaries\n", flags.planning.primaries);
  if (flags.planning.level == "off") text += "not levelled\n";
  if (flags.dispatch == "broadcast") text += "every row is sent to all FFN workers\n";
  return text;
}

std::string differing_workers(const cli::Setup& setup) {
  std::string text;
  for (std::size_t w = 0; w < setup.cluster.workers.size(); ++w) {
    const WorkerTraits& traits = setup.cluster.workers[w];
    if (traits == WorkerTraits{}) continue;
    text += fmt::format("worker {}: FFN times x {:g}, copies x {:g}{}\n", w,
                        static_cast<double>(traits.slowdown_permille) / 1e3,
                        static_cast<double>(traits.copy_slowdown_permille) / 1e3, traits.draining ? ", drains" : "");
  }
  return text;
}

}  // namespace

std::string compare_heading(const ServeFlags& flags, const cli::Setup& setup) {
  const ClusterSpec& c = setup.cluster;
  const LayerCost& cost = setup.cost;
  const bool roofline = cost.rule == LoadRule::roofline;
  return fmt::format(
      "{}: {}, {} redundant slots, {} tokens per tile, {} microbatches, objective {}\n"
      "cost {}: FFN time = {:.2f} us + {}{:.2f} us x tiles{} {:.2f} us x experts{}; a copy takes {:.1f} us\n{}",
      setup.model.name.empty() ? "model" : cli::printable(setup.model.name), devices(flags, setup), c.redundant_slots,
      c.tile_tokens, c.microbatches, to_string(setup.planner.limits.objective), cli::printable(setup.profile.name),
      static_cast<double>(cost.c0_ns) / 1e3, roofline ? "max(" : "", static_cast<double>(cost.c1_ns) / 1e3,
      roofline ? "," : " +", static_cast<double>(cost.c2_ns) / 1e3, roofline ? ")" : "",
      static_cast<double>(cost.copy_ns) / 1e3, differing_workers(setup) + unusual_flags(flags));
}

}  // namespace afore::serve
