#include "afore-serve/run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "afore-serve/requests.h"
#include "afore-serve/run_memory.h"
#include "afore-serve/run_output.h"
#include "common/report_file.h"
#include "device/plugin.h"
#include "host/finite_requests.h"
#include "host/monolith.h"
#include "host/threads/thread_runner.h"
#include "migrate/arena.h"
#include "placement/registry.h"
#include "util/error.h"

namespace afore::serve {
namespace {

// For a paced run to say anything about its workers: their own work, of the cores' time; how long operations lasted, by
// how long they should have.
constexpr double kMostCpuShare = 0.5, kMostStretch = 1.1;

std::int64_t default_kv_tokens(const ModelSpec& model, std::int64_t workers, std::int64_t free_bytes) {
  constexpr std::int64_t kMost = std::int64_t{1} << 18;
  const std::int64_t bytes_per_token = std::max<std::int64_t>(1, model.kv_bytes_per_token * model.layers);
  const std::int64_t fits = free_bytes / 4 / workers / bytes_per_token;
  return std::clamp<std::int64_t>(fits, batch::kKvBlockTokens, kMost) / batch::kKvBlockTokens * batch::kKvBlockTokens;
}

bool on_cuda(const RunFlags& flags) { return flags.device == "cuda"; }

// auto is settled, and what only one of the devices knows is refused on the other.
void settle_device(RunFlags& flags) {
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

cli::Setup run_setup(RunFlags& flags, const nn::ModelConfig& config) {
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
  return cli::resolve(flags.planning, header, "afore");
}

host::ServingLoopOptions serving_options(const RunFlags& flags, const cli::Setup& setup, const nn::ModelConfig& config,
                                         std::size_t requests) {
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
  // Prompts that are all here wait their turn; what a trace brings at its own times may be refused.
  if (flags.prompts.trace.empty()) serving.max_queue = std::max<std::int64_t>(serving.max_queue, requests);
  return options;
}

host::ThreadOptions thread_options(const RunFlags& flags, const cli::Setup& setup, std::int64_t kv_budget_tokens) {
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

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Its requests one after the other, as they are asked for.
host::FiniteRequests feed(std::vector<host::IncomingRequest>& requests) {
  return host::FiniteRequests([&requests, next = std::size_t{0}](host::IncomingRequest& request) mutable {
    if (next == requests.size()) return false;
    request = std::move(requests[next++]);
    return true;
  });
}

class Run {
 public:
  explicit Run(RunFlags flags)
      : flags_(std::move(flags)),
        model_(cli::load_model(flags_.model)),
        setup_(run_setup(flags_, model_->config())),
        requests_(cli::load_prompts(flags_.prompts, model_->tokenizer, model_->config())),
        serving_(serving_options(flags_, setup_, model_->config(), requests_.size())),
        out_(flags_.json, requests_.size(), flags_.record, flags_.report),
        interrupted_(cli::catch_interrupts()) {}

  void operator()() {
    out_.record(header());
    flags_.host == "threads" ? on_threads() : monolithic();
  }

 private:
  Header header() const {
    const bool threads = flags_.host == "threads";
    Header header = cli::gained(setup_, threads);
    if (!threads) header.cluster = {.microbatches = setup_.cluster.microbatches};  // there are no workers
    header.producer = cli::producer("afore-serve");
    header.seed = static_cast<std::uint64_t>(flags_.prompts.seed);
    header.source = "recorded";
    header.measured = true;
    return header;
  }

  void on_threads() {
    host::ThreadSink sink;
    if (out_.records()) {
      sink.planned = [this](const Batch* batch, const Demand& demand, const pipeline::PlannedTarget& planned) {
        if (batch != nullptr) out_.record(*batch);
        out_.record(demand);
        if (planned.before) out_.record(*planned.before);
        out_.record(planned.plan);
        if (planned.completed) out_.record(*planned.completed);
      };
      sink.observed = [this](const Observed& observed) { out_.record(observed); };
      if (flags_.timeline) sink.operation = [this](const Operation& operation) { out_.record(operation); };
      else if (out_.pictures()) sink.operation = [this](const Operation& operation) { out_.picture(operation); };
    }
    host::ThreadRunner runner(*model_, thread_options(flags_, setup_, serving_.serving.kv_budget_tokens),
                              setup_.planner, sink, text_sink());
    const double cpu_s = cpu_seconds();
    const Nanos start_ns = runner.now();
    serve(runner, [&] {
      Summary summary = runner.engine().summary();
      const double wall_s = static_cast<double>(runner.now() - start_ns) / 1e9;
      const double share =
          (cpu_seconds() - cpu_s) / wall_s / static_cast<double>(std::max(1u, std::thread::hardware_concurrency()));
      summary.notes["cpu_share"] = fmt::format("{:.3f}", share);
      if (flags_.pace) {
        summary.notes["paced"] = "true";
        stretch_ = runner.engine().stretch();
        summary.notes["pace_stretch"] = fmt::format("{:.3f}", stretch_);
      }
      cpu_share_ = share;
      return summary;
    });
    if (flags_.pace) check_pace();
  }

  void check_pace() const {
    if (cpu_share_ > kMostCpuShare)
      throw Error(
          ErrorKind::answer_no,
          fmt::format("the workers' own work took {:.0f} % of the cores' time: at this pace they were in each "
                      "other's way, and the times say nothing",
                      cpu_share_ * 100),
          fmt::format("take a machine {:.1f} times as slow: --cost 'NAME*FACTOR'", cpu_share_ / kMostCpuShare * 1.3));
    if (stretch_ > kMostStretch)
      throw Error(ErrorKind::answer_no,
                  fmt::format("operations lasted {:.2f} times what the cost says: this machine cannot keep that pace",
                              stretch_),
                  fmt::format("take a machine {:.0f} times as slow, --cost 'NAME*FACTOR', or one without other work",
                              std::ceil(1 + (stretch_ - 1) / (kMostStretch - 1))));
  }

  void monolithic() {
    host::MonolithOptions options;
    options.microbatches = static_cast<int>(setup_.cluster.microbatches);
    options.kv_budget_tokens = serving_.serving.kv_budget_tokens;
    options.attention_workers = static_cast<int>(setup_.cluster.attention_workers);
    options.threads = static_cast<int>(flags_.threads);
    options.isa = flags_.isa == "auto" ? device::cpu::best_isa() : device::cpu::parse_isa(flags_.isa);
    options.wall_clock = true;
    host::MonolithSink sink;
    if (out_.records())
      sink = [this](const Batch* batch, const Demand& demand, const Routing*) {
        if (batch != nullptr) {
          Batch split_evenly = *batch;  // by whoever has attention workers
          split_evenly.per_attention_worker.clear();
          out_.record(split_evenly);
        }
        out_.record(demand);
      };
    host::Monolith runner(*model_, options, std::move(sink), text_sink());
    serve(runner, [&] {
      Summary summary;
      summary.host = "monolithic";
      summary.device = std::string("cpu-") + device::cpu::to_string(options.isa);
      return summary;
    });
  }

  host::TextSink text_sink() {
    return [this](const std::string&, std::string_view text, std::int64_t, bool last) { out_.text(text, last); };
  }

  void serve(host::StepRunner& runner, const std::function<Summary()>& summarize) {
    host::ServingLoop loop(serving_, runner, [this](const Completion& completion) { out_.completion(completion); });
    host::FiniteRequests source = feed(requests_);
    const bool cut = loop.run(source, interrupted_);
    Summary summary = summarize();
    loop.fill(summary);
    summary.producer = cli::producer("afore-serve");
    summary.interrupted = cut;
    summary.notes["cost"] = setup_.profile.name;
    out_.finish(summary);
    if (cut) throw Error(ErrorKind::interrupted, "interrupted");
  }

  RunFlags flags_;
  std::unique_ptr<host::LoadedModel> model_;
  cli::Setup setup_;
  std::vector<host::IncomingRequest> requests_;
  host::ServingLoopOptions serving_;
  RunOutput out_;
  const volatile int* interrupted_;
  double cpu_share_ = 0, stretch_ = 1;
};

}  // namespace

void add_run_flags(CLI::App& app, RunFlags& flags) {
  cli::add_model_source_flags(app, flags.model);
  cli::add_prompt_flags(app, flags.prompts);
  cli::add_choice(app, "--host", flags.host, "Workers on threads, or the whole model in one piece",
                  {"threads", "monolithic"});
  cli::add_choice(app, "--device", flags.device, "What workers compute on; auto: CUDA where there is a device",
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
  cli::add_choice(app, "--policy", planning.policy, "Placement policy (docs/policies.md)", policies);
  cli::add_choice(app, "--demand-source", planning.demand_source,
                  "What a target is planned from: its own demand, its last step, or a window of steps",
                  {"prefetch", "last_step", "window"});
  cli::add_choice(app, "--objective", planning.objective,
                  "Minimise the largest predicted time, or the largest tile load", {"time", "tiles"});
  cli::add_int(app, "--ffn-workers", planning.workers, "FFN workers", 1, 1024);
  cli::add_int(app, "--attention-workers", planning.attention_workers, "Attention workers", 1, 1024);
  cli::add_int(app, "--microbatches", planning.microbatches, "Microbatches in flight", 1, 64);
  cli::add_int(app, "--slots", planning.slots, "Redundant expert slots per FFN worker and layer", 0, 10'000);
  cli::add_int(app, "--copy-budget", planning.copy_budget, "Copies per plan (default: the number of workers)", 0);
  cli::add_int(app, "--window-us", planning.window_us,
               "Time that hides copies (default: predicted FFN time of the preceding target)", 0, 1'000'000'000);
  cli::add_choice(app, "--gain-rule", planning.gain_rule, "off installs copies whatever they cost", {"on", "off"});
  cli::add_choice(app, "--level", planning.level, "afore: plan for when workers are done with all their targets",
                  {"on", "off"});
  cli::add_int(app, "--eplb-interval", planning.eplb_interval, "Steps between two EPLB rebalances", 1, 1'000'000'000);
  app.add_flag("--no-overlap", flags.no_overlap, "Copies start only when their worker is free");
  app.add_option("--cost", planning.cost,
                 "What plans are made with: cpu, a100, h100, h200 or a cost FILE (afore-serve calibrate), and *FACTOR "
                 "behind it for a "
                 "machine so many times as slow (default cpu; on cuda h200)");
  app.add_flag("--pace", flags.pace,
               "Every operation lasts at least what --cost says, so that more workers than cores run in true time");
  app.add_option("--sizes", flags.sizes, "Plan and pace as if experts and hidden states had this preset's sizes")
      ->type_name("PRESET");
  cli::add_int(app, "--tile-tokens", planning.tile_tokens,
               "Rows of a tile: 8 on cpu; 16, 32 or 64 on cuda (default 16)", 1, 1 << 20);
  cli::add_choice(app, "--combine", flags.combine,
                  "Rows of each expert, or per-worker sums (default: exact on cpu, partial on cuda)",
                  {"exact", "partial"});
  cli::add_choice(app, "--isa", flags.isa, "Instruction set", {"auto", "avx512bf16", "avx2", "scalar"});
  cli::add_int(app, "--threads", flags.threads, "Threads that each worker computes with", 1, 256);
  cli::add_int(app, "--max-concurrency", flags.max_concurrency, "Requests that run at once", 1, 1 << 24);
  cli::add_int(app, "--deadline-s", flags.deadline_s, "A step that takes longer ends the run", 1, 1'000'000);
  add_request_flags(app, flags.requests, "what a quarter of the memory beside the weights holds, at most 262144");
  app.add_flag("--json", flags.json, "Completion and summary records, also on a terminal");
  cli::beside_stdout(
      app.add_option("--record", flags.record, "The run's whole stream into FILE (lines, or a log by the name .afl)")
          ->type_name("FILE"));
  app.add_flag("--timeline", flags.timeline, "Operation records in --record");
  cli::add_report(app, flags.report);
}

void run(RunFlags flags) {
  if (flags.timeline && flags.record.empty())
    throw Error(ErrorKind::usage, "--timeline has nowhere to go", "give --record FILE");
  if (flags.pace && flags.host != "threads")
    throw Error(ErrorKind::usage, "--pace is for workers", "leave out --host monolithic");
  settle_device(flags);
  Run(std::move(flags))();
}

}  // namespace afore::serve
