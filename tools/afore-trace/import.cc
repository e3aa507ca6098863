// `afore-trace import`: recorded routing of other programs as a stream of demand.
#include "import.h"

#include <memory>

#include "commands.h"
#include "common/real.h"
#include "common/record_sink.h"
#include "util/error.h"

namespace afore::cli {
namespace {

constexpr std::int64_t kMaxConcurrent = 1 << 24;
constexpr std::int64_t kMaxMicrobatches = 1000;
constexpr std::int64_t kMaxSteps = std::int64_t{1} << 40;
constexpr double kMaxReal = 1e6;

// An option of one format, given with the other, is a mistake worth a message.
void refuse(bool given, const std::string& flag, const std::string& from) {
  if (given) throw Error(ErrorKind::usage, flag + " does not apply to --from " + from, "see afore-trace import --help");
}

// How rows become steps: of routing-ids alone.
void refuse_batch_flags(const ImportOptions& o) {
  refuse(o.concurrent != 0, "--concurrent", o.from);
  refuse(o.prefill_chunk != 0, "--prefill-chunk", o.from);
  refuse(!o.phases.empty(), "--phases", o.from);
  refuse(o.steps != 0, "--steps", o.from);
  refuse(o.warmup_steps >= 0, "--warmup-steps", o.from);
}

void refuse_trace_flags(const ImportOptions& o) {
  refuse(!o.routing.empty(), "--routing", o.from);
  refuse(o.requests != 0, "--requests", o.from);
  refuse(o.rate_scale.has_value(), "--rate-scale", o.from);
  refuse(o.start_s.has_value(), "--start-s", o.from);
  refuse(o.window_s.has_value(), "--window-s", o.from);
}

void run_import(const ImportOptions& o) {
  if (o.from == "routing-ids") {
    refuse(o.top_k != 0, "--top-k", o.from);
    refuse(o.sample_steps != 0, "--sample-steps", o.from);
    refuse(o.tokens != 0, "--tokens", o.from);
    refuse_trace_flags(o);
    import_routing_ids(o);
  } else if (o.from == "azure-csv" || o.from == "mooncake") {
    refuse_batch_flags(o);
    refuse(o.top_k != 0, "--top-k", o.from);
    refuse(o.sample_steps != 0, "--sample-steps", o.from);
    refuse(o.tokens != 0, "--tokens", o.from);
    import_requests(o);
  } else {
    refuse_trace_flags(o);
    refuse_batch_flags(o);
    refuse(!o.metas.empty(), "--meta", o.from);
    import_sglang_count(o);
  }
}

}  // namespace

void warn_of_unknown_sizes(const ModelSpec& model) {
  if (model.hidden != kAbsent && model.moe_intermediate != kAbsent && model.expert_bytes != kAbsent) return;
  std::string presets;
  for (const ModelSpec& preset : model_presets())
    if (preset.experts == model.experts) presets += (presets.empty() ? "" : ", ") + preset.name;
  warn("the model's sizes are unknown, so planning will ask for them" +
       (presets.empty() ? "; no preset has " + std::to_string(model.experts) + " experts"
                        : ": give --model PRESET (" + presets + ")"));
}

void add_import(CLI::App& app) {
  CLI::App* sub = app.add_subcommand("import", "Recorded routing as a stream of demand");
  auto o = std::make_shared<ImportOptions>();
  add_choice(*sub, "--from", o->from, "Format of the input", {"routing-ids", "sglang-count", "azure-csv", "mooncake"})
      ->required();
  sub->add_option("FILE", o->inputs,
                  "Input; several NAME=FILE of one model make one workload of several domains (routing-ids)")
      ->required();
  add_int(*sub, "--seed", o->seed, "Seed of everything drawn");
  add_int(*sub, "--microbatches", o->microbatches, "Microbatches per step", 1, kMaxMicrobatches);
  sub->add_option("--layers", o->layers, "Only these layers (absolute indices, like 1-3,7)");
  sub->add_option("--model", o->model,
                  "Preset for the sizes that the file lacks (default: from the file's model name)");

  add_output(*sub, o->output);

  // A value that stands for "not given" is no default to show.
  const auto optional_int = [sub](const char* flag, std::int64_t& value, const char* help, std::int64_t min,
                                  std::int64_t max) {
    return add_int(*sub, flag, value, help, min, max)->default_str("");
  };
  const std::string routing = "routing-ids";
  sub->add_option("--meta", o->metas, "JSON index of each FILE, in the same order; repeat the flag")
      ->allow_extra_args(false)
      ->group(routing);
  optional_int("--concurrent", o->concurrent, "Decode with this many live requests", 1, kMaxConcurrent)->group(routing);
  optional_int("--prefill-chunk", o->prefill_chunk, "Prefill instead, this many tokens per microbatch and step", 1,
               kMaxConcurrent)
      ->group(routing);
  optional_int(
      "--steps", o->steps,
      "Steps after warm-up (default: 100; with --phases one round of them; with --prefill-chunk the file once)", 1,
      kMaxSteps)
      ->group(routing);
  optional_int("--warmup-steps", o->warmup_steps, "Steps before, of phase warmup (default: 32; prefill 0)", 0,
               kMaxSteps)
      ->group(routing);
  sub->add_option("--phases", o->phases,
                  "Domains by steps, over and over, like math:50,code:50,mixed:100; mixed draws evenly from all, a+b "
                  "from both (default: mixed)")
      ->group(routing);
  add_choice(*sub, "--phase-change", o->phase_change,
             "At a change of domain: abrupt replaces all live requests, gradual only finished ones",
             {"abrupt", "gradual"})
      ->group(routing);

  const std::string traces = "azure-csv, mooncake";
  sub->add_option("--routing", o->routing, "Recorded routing that requests read, as FILE of routing-ids; with --meta")
      ->allow_extra_args(false)
      ->group(traces);
  optional_int("--requests", o->requests, "Only the first N requests", 1, kMaxSteps)->group(traces);
  add_real(*sub, "--rate-scale", o->rate_scale, "Arrivals this many times as dense", kMaxReal)->group(traces);
  add_real(*sub, "--start-s", o->start_s, "Leave out what arrives before this second of the trace", kMaxReal)
      ->group(traces);
  add_real(*sub, "--window-s", o->window_s, "Only this many seconds from there", kMaxReal)->group(traces);

  const std::string counts = "sglang-count";
  optional_int("--top-k", o->top_k, "Experts per token (default: the preset's)", 1, 1024)->group(counts);
  optional_int("--sample-steps", o->sample_steps, "Draw this many steps from the counts", 1, kMaxSteps)->group(counts);
  optional_int("--tokens", o->tokens, "Tokens per microbatch and drawn step", 1, std::int64_t{1} << 32)->group(counts);
  examples(*sub, {{"Recorded routing, decoded by 96 live requests",
                   "routing=${AFORE_DATA:-/usr/share/afore}/data/tiny-routing\n"
                   "afore-trace import --from routing-ids $routing/math.ids.u8.zst \\\n"
                   "  --meta $routing/math.index.json --concurrent 96 --steps 20 > math.jsonl"},
                  {"Two domains that take turns",
                   "afore-trace import --from routing-ids math=$routing/math.ids.u8.zst \\\n"
                   "  --meta $routing/math.index.json code=$routing/code.ids.u8.zst \\\n"
                   "  --meta $routing/code.index.json --phases math:10,code:10 --concurrent 96 \\\n"
                   "  --microbatches 3 > turns.jsonl"},
                  {"Steps drawn from summed counts, as SGLang writes them",
                   "echo '{\"logical_count\":[[700,300,300,200],[250,250,250,750]]}' > counts.json\n"
                   "afore-trace import --from sglang-count counts.json --top-k 2 -q \\\n"
                   "  --sample-steps 20 --tokens 512 > drawn.jsonl"}});
  sub->final_callback([o] { run_import(*o); });
}

}  // namespace afore::cli
