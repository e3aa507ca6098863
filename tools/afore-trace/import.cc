// `afore-trace import`: recorded routing of other programs as a stream of demand.
#include "import.h"

#include <memory>

#include "commands.h"
#include "common/messages.h"
#include "common/record_sink.h"
#include "foreign_inputs.h"
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

void refuse_counts_flags(const ImportOptions& o) {
  refuse(o.sample_steps != 0, "--sample-steps", o.from);
  refuse(o.tokens != 0, "--tokens", o.from);
  refuse(o.sum, "--sum", o.from);
  refuse(o.allow_drop, "--allow-drop", o.from);
  refuse(!o.phase.empty(), "--phase", o.from);
}

// What files of other systems leave open, and ours say.
void refuse_foreign_flags(const ImportOptions& o) {
  refuse(o.top_k != 0, "--top-k", o.from);
  refuse(o.experts != 0, "--experts", o.from);
  refuse(o.hidden_layers != 0, "--hidden-layers", o.from);
  refuse(o.workers != 0, "--workers", o.from);
  refuse(!o.moe_layers.empty(), "--moe-layers", o.from);
  refuse(!o.layer_axis.empty(), "--layer-axis", o.from);
  refuse(!o.map.empty(), "--map", o.from);
  refuse(!o.model_class.empty(), "--model-class", o.from);
  refuse(!o.iterations.empty(), "--iterations", o.from);
}

// How rows become steps: of routing alone.
void refuse_batch_flags(const ImportOptions& o) {
  refuse(o.concurrent != 0, "--concurrent", o.from);
  refuse(o.prefill_chunk != 0, "--prefill-chunk", o.from);
  refuse(!o.phases.empty(), "--phases", o.from);
  refuse(o.steps != 0, "--steps", o.from);
  refuse(o.warmup_steps >= 0, "--warmup-steps", o.from);
  refuse(o.rows, "--rows", o.from);
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
    refuse_counts_flags(o);
    refuse_foreign_flags(o);
    refuse_trace_flags(o);
    import_routing_ids(o);
  } else if (o.from == "azure-csv" || o.from == "mooncake") {
    refuse_batch_flags(o);
    refuse_counts_flags(o);
    refuse_foreign_flags(o);
    import_requests(o);
  } else {
    refuse_trace_flags(o);
    refuse(!o.metas.empty(), "--meta", o.from);
    refuse(!o.phases.empty(), "--phases", o.from);
    if (o.from != "trtllm") refuse(!o.iterations.empty(), "--iterations", o.from);
    if (o.from == "sglang-count") {
      refuse_batch_flags(o);
      ImportOptions sum = o;
      sum.sum = true;
      return import_foreign(sum);
    }
    import_foreign(o);
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

void add_import(Command app) {
  Command sub = app.command("import", "Recorded routing as a stream of demand");
  auto o = std::make_shared<ImportOptions>();
  std::vector<std::string> formats = {"routing-ids", "azure-csv", "mooncake"};
  formats.insert(formats.end(), foreign_formats().begin(), foreign_formats().end());
  sub.choice("--from", o->from, "Format of the input (docs/formats.md)", formats).required();
  sub.option("FILE", o->inputs,
             "Input; several NAME=FILE of one model make one workload of several domains (routing-ids)")
      .required();
  sub.integer("--seed", o->seed, "Seed of everything drawn");
  sub.integer("--microbatches", o->microbatches, "Microbatches per step", 1, kMaxMicrobatches);
  sub.option("--layers", o->layers, "Only these layers (absolute indices, like 1-3,7)");
  sub.option("--model", o->model, "Preset for the sizes that the file lacks (default: from the file's model name)");

  add_output(sub, o->output);

  // A value that stands for "not given" is no default to show.
  const auto optional_int = [&sub](const char* flag, std::int64_t& value, const char* help, std::int64_t min,
                                   std::int64_t max) {
    return sub.integer(flag, value, help, min, max).hide_default();
  };
  const std::string routing = "routing (routing-ids, routed-experts)";
  sub.option("--meta", o->metas, "JSON index of each FILE, in the same order; repeat the flag")
      .one_value()
      .under(routing);
  optional_int("--concurrent", o->concurrent, "Decode with this many live requests", 1, kMaxConcurrent).under(routing);
  optional_int("--prefill-chunk", o->prefill_chunk, "Prefill instead, this many tokens per microbatch and step", 1,
               kMaxConcurrent)
      .under(routing);
  optional_int(
      "--steps", o->steps,
      "Steps after warm-up (default: 100; with --phases one round of them; with --prefill-chunk the file once)", 1,
      kMaxSteps)
      .under(routing);
  optional_int("--warmup-steps", o->warmup_steps, "Steps before, of phase warmup (default: 32; prefill 0)", 0,
               kMaxSteps)
      .under(routing);
  sub.option("--phases", o->phases,
             "Domains by steps, over and over, like math:50,code:50,mixed:100; mixed draws evenly from all, a+b "
             "from both (default: mixed)")
      .under(routing);
  sub.choice("--phase-change", o->phase_change,
             "At a change of domain: abrupt replaces all live requests, gradual only finished ones",
             {"abrupt", "gradual"})
      .under(routing);

  sub.flag("--rows", o->rows, "Also each token's experts, and which token it is: for train-predictor").under(routing);

  const std::string traces = "azure-csv, mooncake";
  sub.option("--routing", o->routing, "Recorded routing that requests read, as FILE of routing-ids; with --meta")
      .one_value()
      .under(traces);
  optional_int("--requests", o->requests, "Only the first N requests", 1, kMaxSteps).under(traces);
  sub.real("--rate-scale", o->rate_scale, "Arrivals this many times as dense", kMaxReal).under(traces);
  sub.real("--start-s", o->start_s, "Leave out what arrives before this second of the trace", kMaxReal).under(traces);
  sub.real("--window-s", o->window_s, "Only this many seconds from there", kMaxReal).under(traces);

  const std::string counts = "counts (sglang, sglang-csv, vllm, trtllm, eplb, route-log)";
  sub.flag("--sum", o->sum, "All recorded passes as one sum, not as steps").under(counts);
  sub.choice("--phase", o->phase, "Phase of the recorded passes (default: mixed; of sums decode)",
             {"decode", "prefill", "mixed"})
      .hide_default()
      .under(counts);
  sub.flag("--allow-drop", o->allow_drop, "Accept counts of which the recorder lost some").under(counts);
  optional_int("--sample-steps", o->sample_steps, "Draw this many steps from the sum", 1, kMaxSteps).under(counts);
  optional_int("--tokens", o->tokens, "Tokens per microbatch and drawn step", 1, std::int64_t{1} << 32).under(counts);

  const std::string open = "what files leave open";
  optional_int("--top-k", o->top_k, "Experts per token (default: the preset's)", 1, 1024).under(open);
  optional_int("--experts", o->experts, "Routed experts per MoE layer (default: the preset's)", 1, 1 << 16).under(open);
  optional_int("--hidden-layers", o->hidden_layers, "Layers of the model, dense ones included", 1, 1 << 16).under(open);
  sub.option("--moe-layers", o->moe_layers, "Which of them are MoE layers, like 3-60").under(open);
  sub.choice("--layer-axis", o->layer_axis, "Whether rows are all hidden layers or the MoE layers only",
             {"hidden", "moe"})
      .hide_default()
      .under(open);
  optional_int("--workers", o->workers, "Expert-parallel ranks that a map's slots are spread over", 1, 100'000)
      .under(open);
  sub.option("--map", o->map, "physical_to_logical_map in force when physical experts were counted (JSON or npy)")
      .under(open);
  sub.option("--model-class", o->model_class, "Which model of a file with maps of several (vllm-map)").under(open);
  sub.option("--iterations", o->iterations, "Only these iterations, like 100-200 (trtllm)").under(open);
  sub.examples({{"Recorded routing, decoded by 96 live requests",
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
  sub.on_run([o] { run_import(*o); });
}

}  // namespace afore::cli
