#include "afore-serve/workers.h"

#include <fmt/format.h>

#include <algorithm>

#include "afore-serve/requests.h"
#include "afore-serve/run_memory.h"
#include "common/messages.h"
#include "common/presets.h"
#include "device/plugin.h"
#include "migrate/arena.h"
#include "placement/registry.h"
#include "util/error.h"

namespace afore::serve {
namespace {

std::int64_t default_kv_tokens(const ModelSpec& model, std::int64_t workers, std::int64_t free_bytes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 18;
  const std::int64_t bytes_per_token = std::max<std::int64_t>(1, model.kv_bytes_per_token * model.layers);
  const std::int64_t fits = free_bytes / 4 / workers / bytes_per_token;
  return std::clamp<std::int64_t>(fits, batch::kKvBlockTokens, kMost) / batch::kKvBlockTokens * batch::kKvBlockTokens;
}

bool on_cuda(const WorkerFlags& flags) { return flags.device == "cuda"; }

}  // namespace

void settle_device(WorkerFlags& flags) {
  if (flags.device == "auto") {
    const std::string why = flags.host == "threads" ? device::why_no_cuda() : "the model runs in one piece";
    if (!why.empty()) cli::note("computing on cpu: " + why);
    flags.device = why.empty() ? "cuda" : "cpu";
  } else if (on_cuda(flags)) {
    if (flags.host != "threads")
      throw Error(ErrorKind::usage, "--device cuda is for workers", "leave out --host monolithic");
    if (const std::string why = device::cuda_plugin().unavailable(); !why.empty())
      throw Error(ErrorKind::io, why, "--device cpu computes on processors");
  }
  if (on_cuda(flags) && (flags.isa != "auto" || flags.threads != 1))
    throw Error(ErrorKind::usage, "--isa and --threads are of --device cpu", "leave them out");
  static_cast<void>(flags.sm_partitions.wanted(on_cuda(flags)));
  if (flags.combine.empty()) flags.combine = on_cuda(flags) ? "partial" : "exact";
}

cli::Setup worker_setup(WorkerFlags& flags, const nn::ModelConfig& config) {
  std::int64_t& tile = flags.planning.tile_tokens;
  if (tile == kAbsent) tile = on_cuda(flags) ? device::kCudaTileTokens : device::cpu::kTileTokens;
  if (on_cuda(flags) ? !device::cuda_plugin().is_tile(static_cast<int>(tile)) : tile != device::cpu::kTileTokens)
    throw Error(ErrorKind::usage, fmt::format("--tile-tokens {}: not a tile of --device {}", tile, flags.device),
                on_cuda(flags) ? "16, 32 or 64" : "leave it out: 8");
  if (flags.planning.cost.empty()) flags.planning.cost = on_cuda(flags) ? "h200" : "cpu";
  flags.planning.overlap = flags.no_overlap ? "off" : "on";
  Header header;
  header.model = nn::model_spec(config);
  if (!flags.sizes.empty()) {
    ModelSpec& model = header.model;
    model.name += " as " + flags.sizes;
    model.hidden = model.moe_intermediate = model.expert_bytes = model.attention_bytes = model.kv_bytes_per_token =
        kAbsent;
    flags.planning.model = cli::load_model_preset(flags.sizes, "--sizes").name;
  }
  cli::Setup setup = cli::resolve(flags.planning, header, "afore");
  cli::plan_without_predictions(setup);
  return setup;
}

host::ServingLoopOptions serving_options(const WorkerFlags& flags, const cli::Setup& setup,
                                         const nn::ModelConfig& config) {
  ServeFlags as;
  as.requests = flags.requests;
  host::ServingLoopOptions options = serving_loop_options(as.requests, setup);
  batch::ServingOptions& serving = options.serving;
  const RunMemory memory = run_memory(config, setup, flags.host == "threads");
  if (flags.requests.kv_budget_tokens == kAbsent)
    serving.kv_budget_tokens = default_kv_tokens(
        nn::model_spec(config), setup.cluster.attention_workers,
        on_cuda(flags) ? device::cuda_plugin().free_bytes()
                       : migrate::available_memory_bytes() - static_cast<std::int64_t>(memory.weights()));
  const bool made_up = !flags.model.weights.empty();
  if (on_cuda(flags)) refuse_beyond_gpu(memory, serving.kv_budget_tokens, made_up, device::cuda_plugin().free_bytes());
  else refuse_beyond_memory(memory, serving.kv_budget_tokens, made_up);
  if (flags.max_concurrency != kAbsent)
    serving.max_num_seqs = std::min(serving.max_num_seqs, ceil_div(flags.max_concurrency, serving.microbatches));
  return options;
}

host::ThreadOptions thread_options(const WorkerFlags& flags, const cli::Setup& setup, std::int64_t kv_budget_tokens) {
  host::ThreadOptions options;
  options.model = setup.model;
  options.cluster = setup.cluster;
  options.layer_cost = setup.cost;
  options.pipeline_cost = pipeline_cost(setup.profile, setup.sized);
  options.overlap = !flags.no_overlap;
  options.paced = flags.pace;
  options.on = on_cuda(flags) ? host::ThreadOptions::On::cuda : host::ThreadOptions::On::cpu;
  options.isa = flags.isa == "auto" ? device::cpu::best_isa() : device::cpu::parse_isa(flags.isa);
  options.sm_partitions = flags.sm_partitions.wanted(on_cuda(flags));
  options.combine = flags.combine == "exact" ? device::Combine::exact : device::Combine::partial;
  options.kv_budget_tokens = kv_budget_tokens;
  options.worker_threads = static_cast<int>(flags.threads);
  options.deadline_ns = flags.deadline_s * 1'000'000'000;
  return options;
}

void add_worker_flags(cli::Command app, WorkerFlags& flags) {
  app.choice("--device", flags.device, "What workers compute on; auto: CUDA where there is a device",
             {"cpu", "cuda", "auto"});
  cli::add_sm_partitions(app, flags.sm_partitions);
  std::vector<std::string> policies;
  for (const placement::PolicyInfo& policy : placement::policies()) policies.emplace_back(policy.name);
  cli::PlanningFlags& planning = flags.planning;
  planning.workers = 2;
  planning.attention_workers = 1;
  planning.microbatches = 2;
  planning.slots = 2;
  planning.policy = "afore";
  app.choice("--policy", planning.policy, "Placement policy (docs/policies.md)", policies);
  app.choice("--demand-source", planning.demand_source,
             "What a target is planned from: its own demand, its last step, or a window of steps",
             {"prefetch", "last_step", "window"});
  app.choice("--objective", planning.objective, "Minimise the largest predicted time, or the largest tile load",
             {"time", "tiles"});
  app.integer("--ffn-workers", planning.workers, "FFN workers", 1, 1024);
  app.integer("--attention-workers", planning.attention_workers, "Attention workers", 1, 1024);
  app.integer("--microbatches", planning.microbatches, "Microbatches in flight", 1, 64);
  app.integer("--slots", planning.slots, "Redundant expert slots per FFN worker and layer", 0, 10'000);
  app.integer("--copy-budget", planning.copy_budget, "Copies per plan (default: the number of workers)", 0);
  app.integer("--window-us", planning.window_us,
              "Time that hides copies (default: predicted FFN time of the preceding target)", 0, 1'000'000'000);
  app.choice("--gain-rule", planning.gain_rule, "off installs copies whatever they cost", {"on", "off"});
  app.choice("--level", planning.level, "afore: plan for when workers are done with all their targets", {"on", "off"});
  app.integer("--eplb-interval", planning.eplb_interval, "Steps between two EPLB rebalances", 1, 1'000'000'000);
  app.flag("--no-overlap", flags.no_overlap, "Copies start only when their worker is free");
  app.option("--cost", planning.cost,
             "What plans are made with: cpu, a100, h100, h200 or a cost FILE (afore-serve calibrate), and *FACTOR "
             "behind it for a "
             "machine so many times as slow (default cpu; on cuda h200)");
  app.flag("--pace", flags.pace,
           "Every operation lasts at least what --cost says, so that more workers than cores run in true time");
  app.option("--sizes", flags.sizes, "Plan and pace as if experts and hidden states had this preset's sizes")
      .value_name("PRESET");
  app.integer("--tile-tokens", planning.tile_tokens, "Rows of a tile: 8 on cpu; 16, 32 or 64 on cuda (default 16)", 1,
              1 << 20);
  app.choice("--combine", flags.combine,
             "Rows of each expert, or per-worker sums (default: exact on cpu, partial on cuda)", {"exact", "partial"});
  app.choice("--isa", flags.isa, "Instruction set", {"auto", "avx512bf16", "avx2", "scalar"});
  app.integer("--threads", flags.threads, "Threads that each worker computes with", 1, 256);
  app.integer("--max-concurrency", flags.max_concurrency, "Requests that run at once", 1, 1 << 24);
  app.integer("--deadline-s", flags.deadline_s, "A step that takes longer ends the run", 1, 1'000'000);
  add_request_flags(app, flags.requests, "what a quarter of the memory beside the weights holds, at most 262144");
}

}  // namespace afore::serve
