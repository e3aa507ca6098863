// afore-plan place: a map that stands, for engines that place experts at load. Demand in, header and placement records
// out; what it is worth goes to standard error.
#include "afore-plan/place.h"

#include <fmt/format.h>

#include <memory>
#include <optional>

#include "afore-plan/counted.h"
#include "afore-plan/map_flags.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/record_stream.h"
#include "core/assignment.h"
#include "demand/blocks.h"
#include "placement/eplb.h"
#include "placement/static_map.h"
#include "util/error.h"
#include "wire/wire.h"

namespace afore::plan {
namespace {

constexpr std::int64_t kMostSlotWork = std::int64_t{1} << 31;  // slots x workers: EPLB looks at each pair

struct PlaceOptions {
  std::string file = "-", recover = "tail", policy = "balanced";
  std::int64_t workers = 0, slots = -1, redundant_experts = -1;  // 0, -1 = not given
  std::int64_t eplb_groups = 1, eplb_nodes = 1;
  bool no_duplicates = false, allow_drop = false;
  cli::ModelFlags model;
};

struct Input {
  std::optional<Header> header;
  std::string header_line;
  demand::Blocks blocks;
};

Input read(const PlaceOptions& o) {
  Input input;
  cli::RecordStream stream(o.file, cli::read_options(kAbsent, o.allow_drop), cli::recover_of(o.recover));
  while (stream.next()) {
    if (const auto* header = std::get_if<Header>(&stream.record()); header != nullptr && !input.header) {
      input.header = *header;
      input.header_line = stream.raw();
    }
    if (const auto* demand = std::get_if<Demand>(&stream.record()))
      if (demand->phase != Phase::warmup) input.blocks.observe(*demand);
  }
  if (input.blocks.layers().empty())
    throw Error(ErrorKind::data, stream.lines().name() + ": no demand outside of warm-up",
                "afore-trace import makes demand from what your engine recorded");
  return input;
}

class Placer {
 public:
  Placer(const PlaceOptions& o, std::int64_t experts, std::int64_t workers)
      : o_(o), experts_(static_cast<int>(experts)), workers_(static_cast<int>(workers)) {
    const std::int64_t total = o.redundant_experts >= 0
                                   ? experts + o.redundant_experts
                                   : (ceil_div(experts, workers) + std::max<std::int64_t>(0, o.slots)) * workers;
    if (total % workers != 0)
      throw Error(
          ErrorKind::usage,
          fmt::format("{} experts and {} redundant ones are {} slots, no multiple of {} workers", experts,
                      o.redundant_experts, total, workers),
          fmt::format("--redundant-experts {} is the next that fits", ceil_div(total, workers) * workers - experts));
    if (total / workers > experts)
      throw Error(
          ErrorKind::usage,
          fmt::format("{} slots on each worker for {} experts: every worker would hold all of them more than once",
                      total / workers, experts),
          "use fewer --slots or --redundant-experts");
    if (total > kMostSlotWork / workers)
      throw Error(ErrorKind::usage, fmt::format("{} slots on {} workers are too many to place", total, workers));
    slots_ = static_cast<int>(total / workers);
  }

  int slots_per_worker() const { return slots_; }

  // `loads`: [blocks][experts]
  std::vector<int> place(std::span<const std::int64_t> loads) const {
    if (o_.policy == "balanced") return placement::balance_slots(loads, experts_, workers_, slots_);
    placement::EplbOptions options;
    options.replicas = workers_ * slots_;
    options.groups = static_cast<int>(o_.eplb_groups);
    options.nodes = static_cast<int>(o_.eplb_nodes);
    options.workers = workers_;
    options.allow_duplicates = !o_.no_duplicates;
    return placement::eplb_physical_to_logical(placement::expert_sums(loads, experts_), options);
  }

 private:
  const PlaceOptions& o_;
  int experts_, workers_, slots_ = 0;
};

// Sum over layers and blocks of the largest load, over that of the mean: the max/mean of docs/metrics.md, weighted by
// tokens.
struct Imbalance {
  double largest = 0, mean = 0;
  void add(std::span<const std::int64_t> loads, std::size_t experts, std::span<const int> map, int workers) {
    for (std::size_t at = 0; at < loads.size(); at += experts) {
      const auto block = loads.subspan(at, experts);
      largest += placement::largest_load(block, map, workers);
      double sum = 0;
      for (const std::int64_t load : block) sum += static_cast<double>(load);
      mean += sum / workers;
    }
  }
  double value() const { return mean > 0 ? largest / mean : 1.0; }
};

void report(const PlaceOptions& o, Input& input, const Placer& placer, const std::map<int, std::vector<int>>& maps,
            std::int64_t experts, std::int64_t workers, std::int64_t expert_bytes) {
  if (cli::quiet()) return;  // the held-out half is placed for the note alone
  const int n = static_cast<int>(workers);
  const std::vector<int> contiguous = LayerPlacement::initial(static_cast<int>(experts), n, 0).physical_to_logical();
  Imbalance before, after, held_before, held_after;
  const std::size_t half = input.blocks.blocks() / 2 * input.blocks.experts();
  for (const auto& [layer, loads] : input.blocks.layers()) {
    before.add(loads, input.blocks.experts(), contiguous, n);
    after.add(loads, input.blocks.experts(), maps.at(layer), n);
    if (half == 0) continue;
    const auto early = std::span(loads).first(half), late = std::span(loads).subspan(half);
    held_before.add(late, input.blocks.experts(), contiguous, n);
    held_after.add(late, input.blocks.experts(), placer.place(early), n);
  }
  cli::note(fmt::format("{} on {} workers of {} by {}: max/mean tokens {:.3f} contiguous, {:.3f} now{}",
                        counted(static_cast<std::int64_t>(maps.size()), "layer"), workers,
                        counted(placer.slots_per_worker(), "slot"), o.policy, before.value(), after.value(),
                        half > 0
                            ? fmt::format("; placed on the first half of {} steps and judged on the second {:.3f}, "
                                          "contiguous {:.3f}",
                                          input.blocks.steps(), held_after.value(), held_before.value())
                            : ""));
  cli::note(redundancy_text(std::int64_t{placer.slots_per_worker()} * workers, experts, workers,
                            static_cast<std::int64_t>(maps.size()), expert_bytes));
}

std::int64_t workers_of(const PlaceOptions& o, const Input& input) {
  const std::int64_t known = input.header ? input.header->cluster.ffn_workers : kAbsent;
  if (o.workers > 0) return o.workers;
  if (known != kAbsent) return known;
  throw Error(ErrorKind::usage, "--workers is required", "the size of the expert-parallel group");
}

void run_place(const PlaceOptions& o) {
  if (o.slots >= 0 && o.redundant_experts >= 0)
    throw Error(ErrorKind::usage, "--slots and --redundant-experts say the same thing", "give one of them");
  if (o.policy != "eplb" && (o.eplb_groups != 1 || o.eplb_nodes != 1 || o.no_duplicates))
    throw Error(ErrorKind::usage, "--eplb-groups, --eplb-nodes and --no-duplicates are of --policy eplb",
                "balanced never has two replicas on a worker where they can be apart");
  if (o.eplb_groups % o.eplb_nodes != 0)
    cli::warn(fmt::format("{} groups are no multiple of {} nodes: EPLB then balances over all workers alike",
                          o.eplb_groups, o.eplb_nodes));
  Input input = read(o);
  const ModelSpec model = cli::with_header(o.model, input.header ? input.header->model : ModelSpec());
  for (const int layer : model.moe_layers)
    if (input.blocks.layers().count(layer) == 0) {
      cli::warn(fmt::format(
          "no demand for MoE layer {}: it and others like it get no map, and engines need all of them", layer));
      break;
    }
  const auto experts = static_cast<std::int64_t>(input.blocks.experts());
  if (model.experts != kAbsent && model.experts != experts)
    throw Error(ErrorKind::usage, fmt::format("the demand is of {} experts, the model has {}", experts, model.experts),
                "is --model the right one?");
  const std::int64_t workers = workers_of(o, input);
  const Placer placer(o, experts, workers);
  std::map<int, std::vector<int>> maps;
  for (const auto& [layer, loads] : input.blocks.layers()) maps[layer] = placer.place(loads);

  Header gained;
  gained.model = model;
  gained.model.experts = experts;
  gained.cluster.ffn_workers = workers;
  gained.cluster.redundant_slots = placer.slots_per_worker() - ceil_div(experts, workers);
  if (gained.model.moe_layers.empty())
    for (const auto& [layer, map] : maps) gained.model.moe_layers.push_back(layer);
  ByteWriter out("-");
  if (input.header) {
    out.write_line(wire::extend_header(input.header_line, gained, cli::producer("afore-plan")));
  } else {
    gained.producer = cli::producer("afore-plan");
    out.write_line(wire::to_json(gained));
  }
  for (const auto& [layer, map] : maps)
    out.write_line(wire::to_json(PlacementRecord{layer, placer.slots_per_worker(), map}));
  out.finish();
  report(o, input, placer, maps, experts, workers, model.expert_bytes);
}

}  // namespace

void add_place(cli::Command app) {
  cli::Command command = app.command(
      "place",
      "One map of experts per layer that stands for a whole deployment, every slot filled, from recorded demand:\n"
      "for engines that place experts when weights are loaded. Writes placement records; afore-plan export makes\n"
      "files for SGLang, vLLM, TensorRT-LLM and others of them, and --init of these tools reads them.");
  const auto o = std::make_shared<PlaceOptions>();
  command.option("FILE", o->file, "Stream of demand; - is standard input").show_default();
  cli::add_recover(command, o->recover);
  command.integer("--workers", o->workers, "Expert-parallel ranks", 1, 100'000).hide_default();
  command.integer("--slots", o->slots, "Redundant slots per worker and layer (default 0)", 0, 10'000).hide_default();
  command
      .integer("--redundant-experts", o->redundant_experts,
               "Redundant experts per layer, all workers together, as engines' flags count them", 0, 1 << 20)
      .hide_default();
  command.choice(
      "--policy", o->policy,
      "balanced looks at blocks of steps, so that experts hot at the same time stand apart; eplb is DeepSeek's",
      {"balanced", "eplb"});
  command.integer("--eplb-groups", o->eplb_groups, "Expert groups for eplb", 1, 1 << 16);
  command.integer("--eplb-nodes", o->eplb_nodes, "Nodes for eplb", 1, 1 << 16);
  command.flag("--no-duplicates", o->no_duplicates, "eplb never puts two replicas of an expert on one worker");
  command.flag("--allow-drop", o->allow_drop, "Accept demand that sums to less than tokens x top-k");
  add_model_flags(command, o->model);
  command.examples({{"One redundant slot on each of eight ranks, from recorded demand",
                     "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 > demand.jsonl\n"
                     "afore-plan place -q --workers 8 --slots 1 demand.jsonl > map.jsonl"},
                    {"DeepSeek's rule, as a file that SGLang starts from",
                     "afore-plan place -q --workers 8 --redundant-experts 8 --policy eplb \\\n"
                     "  demand.jsonl | afore-plan export -q --to sglang -o init.json"}});
  command.on_run([command, o] {
    cli::refuse_terminal_stdin(o->file, command);
    run_place(*o);
  });
}

}  // namespace afore::plan
