// `afore-trace synth`: demand of a public model shape under a made-up, moving popularity.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "commands.h"
#include "common/parse.h"
#include "common/presets.h"
#include "stream_out.h"
#include "trace/count_sampler.h"
#include "trace/popularity.h"
#include "util/error.h"
#include "wire/wire.h"

namespace afore::cli {
namespace {

struct SynthOptions {
  std::string model, layers, popularity = "lognormal", switches, output = "-";
  std::int64_t steps = 100, warmup_steps = 0, microbatches = 1, tokens = 0, seed = 0;
  double skew = 1, drift = 0.05, burst = 0;
};

void check_range(const char* flag, double value, double min, double max) {
  if (!(value >= min && value <= max))
    throw Error(ErrorKind::usage, fmt::format("{}: {} is not between {} and {}", flag, value, min, max));
}

trace::PopularityOptions popularity_of(const SynthOptions& o) {
  check_range("--skew", o.skew, 0, 20);
  check_range("--drift", o.drift, 0, 1);
  check_range("--burst", o.burst, 0, 1);
  return {o.popularity == "zipf" ? trace::PopularityShape::zipf : trace::PopularityShape::lognormal, o.skew, o.drift,
          o.burst};
}

// One layer: its popularity, shared by the microbatches of a step, and a stream of draws per microbatch.
struct Layer {
  trace::LayerPopularity popularity;
  std::vector<Rng> draws;

  Layer(const ModelSpec& model, int layer, const trace::PopularityOptions& popularity_options, const SynthOptions& o)
      : popularity(static_cast<int>(model.experts), popularity_options, static_cast<std::uint64_t>(o.seed), layer) {
    for (std::int64_t m = 0; m < o.microbatches; ++m)
      draws.emplace_back(static_cast<std::uint64_t>(o.seed), fmt::format("draw/{}/{}", layer, m));
  }
};

JsonObject workload_of(const SynthOptions& o, const std::vector<int>& switches) {
  JsonObject workload;
  workload.add("form", "synthetic").add("popularity", o.popularity);
  workload.add("skew", o.skew).add("drift", o.drift).add("burst", o.burst);
  workload.add_raw("switches", json_array(switches)).add("tokens", o.tokens);
  return workload.add("warmup_steps", o.warmup_steps).add("steps", o.steps);
}

void write_steps(RecordSink& out, const SynthOptions& o, const ModelSpec& model, const std::vector<int>& switches) {
  const trace::PopularityOptions popularity = popularity_of(o);
  std::vector<Layer> layers;
  for (const int layer : model.moe_layers) layers.emplace_back(model, layer, popularity, o);
  trace::CountSampler sampler;
  Demand demand;
  demand.tokens = o.tokens;
  demand.counts.resize(model.experts);
  std::string line;
  for (std::int64_t step = 0; step < o.warmup_steps + o.steps; ++step) {
    out.set_part(step, o.warmup_steps + o.steps);
    demand.phase = step < o.warmup_steps ? Phase::warmup : Phase::decode;
    const bool switched = std::binary_search(switches.begin(), switches.end(), step - o.warmup_steps);
    for (std::size_t l = 0; l < layers.size(); ++l) {
      Layer& layer = layers[l];
      if (switched) layer.popularity.redraw();
      else if (step > 0) layer.popularity.advance();
      sampler.set_weights(layer.popularity.weights());
      for (std::size_t m = 0; m < layer.draws.size(); ++m) {
        demand.target = {step, model.moe_layers[l], static_cast<int>(m)};
        sampler.draw(layer.draws[m], o.tokens, static_cast<int>(model.top_k), demand.counts);
        line.clear();
        wire::append_json(line, demand);
        out.write_line(line);
      }
    }
  }
}

void run_synth(const SynthOptions& o) {
  ModelSpec model = load_model_preset(o.model);
  keep_layers(model, select_layers(model, o.layers));
  std::vector<int> switches;
  if (!o.switches.empty()) switches = parse_int_list(o.switches, "--switch");
  popularity_of(o);  // refuses bad values before anything is written
  RecordSink out(o.output);
  write_header(out, make_header("synthetic", static_cast<std::uint64_t>(o.seed), model, o.microbatches),
               workload_of(o, switches));
  write_steps(out, o, model, switches);
  out.finish();
}

}  // namespace

void add_synth(Command app) {
  Command sub = app.command("synth", "Synthetic demand of a public model shape");
  auto o = std::make_shared<SynthOptions>();
  constexpr std::int64_t kMaxSteps = std::int64_t{1} << 40;
  sub.option("--model", o->model, "Preset of the model's shape").required();
  sub.option("--layers", o->layers, "Only these layers (absolute indices, like 1-3,7)");
  sub.integer("--steps", o->steps, "Steps after warm-up", 1, kMaxSteps);
  sub.integer("--warmup-steps", o->warmup_steps, "Steps before, of phase warmup", 0, kMaxSteps);
  sub.integer("--microbatches", o->microbatches, "Microbatches per step", 1, 1000);
  sub.integer("--tokens", o->tokens, "Tokens per microbatch and step", 1, std::int64_t{1} << 32)
      .required()
      .hide_default();
  sub.integer("--seed", o->seed, "Seed of everything drawn");
  sub.choice("--popularity", o->popularity, "Shape of the experts' popularity", {"lognormal", "zipf"});
  sub.option("--skew", o->skew, "Sigma of the log-popularity, or the exponent of the ranks").show_default();
  sub.option("--drift", o->drift, "Popularity of a step has correlation 1 - DRIFT with the step before").show_default();
  sub.option("--burst", o->burst,
             "Probability, per layer and step, that a random expert gets 8 times as popular for 8 to 32 steps")
      .show_default();
  sub.option("--switch", o->switches, "Popularity is drawn anew at these steps (after warm-up), like 50,100");
  add_output(sub, o->output);
  sub.examples({{"A shape with 32 experts, three microbatches in flight",
                 "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 \\\n"
                 "  --microbatches 3 > demand.jsonl"},
                {"Popularity that is drawn anew at step 10, as a log",
                 "afore-trace synth --model gpt-oss-20b --layers 0-3 --steps 20 --tokens 512 \\\n"
                 "  --popularity zipf --skew 1.2 --switch 10 -o switch.afl"}});
  sub.on_run([o] { run_synth(*o); });
}

}  // namespace afore::cli
