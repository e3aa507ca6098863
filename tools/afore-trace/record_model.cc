#include "record_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

#include "common/data_files.h"
#include "common/record_sink.h"
#include "common/signals.h"
#include "device/cpu/thread_pool.h"
#include "host/finite_requests.h"
#include "host/monolith.h"
#include "migrate/arena.h"
#include "model_predictors.h"
#include "stream_out.h"
#include "util/error.h"
#include "wire/wire.h"

namespace afore::cli {
namespace {

constexpr int kMostThreads = 16;  // by default; a step of so small batches keeps no more busy

device::cpu::Isa isa_of(const RecordModelFlags& flags) {
  return flags.isa == "auto" ? device::cpu::best_isa() : device::cpu::parse_isa(flags.isa);
}

int threads_of(const RecordModelFlags& flags) {
  if (flags.threads > 0) return static_cast<int>(flags.threads);
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMostThreads);
}

// Room for the largest request in every place, so that what runs depends on the flags and not on the machine's memory.
std::int64_t kv_budget_tokens(const std::vector<host::IncomingRequest>& requests, std::int64_t places,
                              const ModelSpec& model, int caches) {
  std::int64_t largest = 0;
  for (const host::IncomingRequest& request : requests)
    largest = std::max(largest, request.record.prompt_tokens + request.record.output_tokens);
  const std::int64_t tokens = ceil_div(largest, batch::kKvBlockTokens) * batch::kKvBlockTokens * places;
  const double bytes =
      static_cast<double>(tokens) * static_cast<double>(model.kv_bytes_per_token * model.layers) * caches;
  if (bytes > static_cast<double>(migrate::available_memory_bytes()))
    throw Error(ErrorKind::io,
                fmt::format("{} live requests of up to {} tokens need {:.1f} GiB of cache, more than there is memory",
                            places, largest, bytes / (1 << 30)),
                "fewer --max-concurrency, or shorter prompts and --max-tokens");
  return tokens;
}

JsonObject workload_of(const RecordModelFlags& flags, std::size_t prompts) {
  const PromptFlags& from = flags.prompts;
  JsonObject workload;
  workload.add("form", "model");
  if (!from.workload.empty()) workload.add("prompts", from.workload);
  else if (!from.file.empty()) workload.add("prompts", from.file);
  if (!from.trace.empty()) workload.add("trace", from.trace);
  workload.add("requests", prompts).add("max_concurrency", flags.max_concurrency);
  if (flags.steps > 0) workload.add("steps", flags.steps);
  if (flags.warmup_steps > 0) workload.add("warmup_steps", flags.warmup_steps);
  return workload.add("isa", device::cpu::to_string(isa_of(flags)));
}

// Records in the order of a stream: a request's completion behind the step of its last token. The host tells
// completions while that step's other records are still held back, each step's at once.
class Stream {
 public:
  // `steps`: of the run, where that is known; else `requests` are.
  Stream(RecordSink& out, std::int64_t warmup_steps, std::int64_t steps, std::size_t requests)
      : out_(out), warmup_steps_(warmup_steps), steps_(steps), requests_(static_cast<std::int64_t>(requests)) {}

  void target(const Batch* with, std::span<const Prediction> predictions, Demand demand, const Routing* routing) {
    if (demand.target.step != step_) {
      put_ended();
      ended_.swap(ending_);
      step_ = demand.target.step;
      if (steps_ > 0) out_.set_part(step_, steps_);
      out_.flush();
    }
    if (step_ < warmup_steps_) demand.phase = Phase::warmup;
    if (with != nullptr) {
      Batch batch = *with;
      batch.per_attention_worker.clear();  // whoever plans the stream has attention workers, and splits evenly
      out_.write_line(wire::to_json(batch));
    }
    for (const Prediction& prediction : predictions) out_.write_line(wire::to_json(prediction));
    out_.write_line(wire::to_json(demand));
    if (routing != nullptr) out_.write_line(wire::to_json(*routing));
  }
  void completion(const Completion& completion) {
    ending_.push_back(wire::to_json(completion));
    if (steps_ <= 0) out_.set_part(++completed_, requests_);
  }
  void end() {
    put_ended();
    ended_.swap(ending_);
    put_ended();
  }

 private:
  void put_ended() {
    for (const std::string& line : ended_) out_.write_line(line);
    ended_.clear();
  }

  RecordSink& out_;
  std::int64_t warmup_steps_, steps_, requests_, step_ = -1, completed_ = 0;
  std::vector<std::string> ended_, ending_;  // completions: of step_, and of the step whose records come next
};

host::ServingLoopOptions loop_options(const RecordModelFlags& flags, std::int64_t kv_budget_tokens,
                                      std::size_t layers) {
  host::ServingLoopOptions options;
  batch::ServingOptions& serving = options.serving;
  serving.microbatches = static_cast<int>(flags.microbatches);
  serving.max_num_seqs = ceil_div(flags.max_concurrency, flags.microbatches);
  serving.max_num_batched_tokens = flags.max_num_batched_tokens;
  if (serving.max_num_batched_tokens < serving.max_num_seqs)
    throw Error(ErrorKind::usage,
                fmt::format("--max-num-batched-tokens {} is below the {} live requests of a microbatch",
                            flags.max_num_batched_tokens, serving.max_num_seqs),
                "a step has a token for each decoding request");
  serving.kv_budget_tokens = kv_budget_tokens;
  serving.max_queue = flags.max_concurrency;
  options.max_open = flags.max_concurrency;
  if (flags.steps > 0) options.steps = flags.steps;
  options.layers = layers;
  return options;
}

}  // namespace

void add_record_model_flags(Command app, RecordModelFlags& flags) {
  const std::string group = "from a model that runs";
  std::vector<Option> options;
  options.push_back(app.option("--model", flags.model,
                               "Folder with config.json, safetensors and tokenizer.json "
                               "(default: the bundled one)")
                        .value_name("DIR"));
  options.push_back(app.integer("--microbatches", flags.microbatches, "Microbatches of a step", 1, 64));
  options.push_back(
      app.integer("--max-concurrency", flags.max_concurrency, "Live requests, over all microbatches", 1, 1 << 20));
  options.push_back(app.integer("--max-num-batched-tokens", flags.max_num_batched_tokens,
                                "Tokens of a step of a microbatch: one per decoding request, the rest prompts", 1,
                                1 << 24));
  options.push_back(
      app.integer("--steps", flags.steps,
                  "Stop after so many steps; until then prompts repeat, unless --num-prompts says how many "
                  "requests there are (default: to the end of all requests)",
                  1, 1'000'000'000)
          .hide_default());
  options.push_back(app.integer("--warmup-steps", flags.warmup_steps,
                                "First steps that are marked as warm-up, and left out of metrics", 0, 1'000'000'000));
  options.push_back(app.flag("--routing", flags.routing, "Also each token's experts and their weights"));
  options.push_back(
      app.choices("--predict", flags.predict,
                  "Also what is guessed of demand ahead, by the next layer's gate asked a layer early, or "
                  "by a 4-bit copy of the model that runs first; repeatable",
                  {"gate", "replica"}));
  options.push_back(app.choice("--isa", flags.isa, "Instruction set", {"auto", "avx512bf16", "avx2", "scalar"}));
  options.push_back(app.integer("--threads", flags.threads,
                                "Threads to compute with; the output does not depend on it (default: one per core)", 1,
                                256)
                        .hide_default());
  for (Option option : options) option.under(group);
  add_prompt_flags(app, flags.prompts);
}

void record_model(const RecordModelFlags& flags, RecordSink& out) {
  const StopFlag* interrupted = catch_interrupts();
  const host::LoadedModel model(flags.model.empty() ? data_file("models/tiny") : std::filesystem::path(flags.model));
  const ModelSpec spec = nn::model_spec(model.config());
  PromptSource prompts(flags.prompts, model.tokenizer, model.config(), flags.steps > 0);

  host::MonolithOptions options;
  options.microbatches = static_cast<int>(flags.microbatches);
  options.kv_budget_tokens =
      kv_budget_tokens(prompts.requests(), flags.max_concurrency, spec, predicts_with_replica(flags.predict) ? 2 : 1);
  options.threads = threads_of(flags);
  options.isa = isa_of(flags);
  options.routing = flags.routing;
  const host::ServingLoopOptions serving = loop_options(flags, options.kv_budget_tokens, spec.moe_layers.size());

  const ModelPredictors predictors(flags.predict, model, options);
  options.predictors = predictors.all();
  Stream stream(out, flags.warmup_steps, flags.steps, prompts.requests().size());
  host::Monolith runner(model, options,
                        [&](const Batch* batch, std::span<const Prediction> predictions, const Demand& demand,
                            const Routing* routing) { stream.target(batch, predictions, demand, routing); },
                        {});
  write_header(out, make_header("recorded", static_cast<std::uint64_t>(flags.prompts.seed), spec, flags.microbatches),
               workload_of(flags, prompts.requests().size()));
  host::ServingLoop loop(serving, runner, [&](const Completion& completion) { stream.completion(completion); });
  host::FiniteRequests source([&](host::IncomingRequest& request) { return prompts.next(request); });
  const bool cut = loop.run(source, interrupted);
  stream.end();
  if (cut) throw Error(ErrorKind::interrupted, "interrupted");
  out.finish();
}

}  // namespace afore::cli
