#include "afore-plan/ratio.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>

#include "advice/mean_demand.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/presets.h"
#include "common/record_stream.h"
#include "util/error.h"

namespace afore::plan {
namespace {

// Beyond it a simulated step takes seconds here, and no group of FFN workers is fed by as many.
constexpr std::int64_t kMostWorkers = 1024;
// More are asked for where links take seven times as long as the work: that is no pipeline to balance.
constexpr double kMostMicrobatches = 16;

// Assignments by expert of a stream's demand, warm-up left out.
struct StreamDemand {
  std::optional<Header> header;
  std::map<int, std::vector<std::int64_t>> by_layer;
};

StreamDemand read_stream(const RatioFlags& flags) {
  StreamDemand found;
  cli::RecordStream stream(flags.input, cli::read_options(flags.planning.top_k, true), cli::recover_of(flags.recover),
                           cli::Progress::Output::at_end);
  stream.may_be_empty();  // a preset says as much
  while (stream.next()) {
    const auto* demand = std::get_if<Demand>(&stream.record());
    if (demand == nullptr || demand->phase == Phase::warmup) continue;
    std::vector<std::int64_t>& sums = found.by_layer[demand->target.layer];
    sums.resize(demand->counts.size(), 0);
    for (std::size_t e = 0; e < sums.size(); ++e) sums[e] += demand->counts[e];
  }
  found.header = stream.header();
  if (found.header) found.header->planner.reset();
  if (!found.header && found.by_layer.empty())
    throw Error(ErrorKind::data, stream.lines().name() + ": the stream has no header and no demand", "");
  return found;
}

// Experts, top-k and MoE layers from the stream, else from the preset.
void complete_model(const RatioFlags& flags, const StreamDemand& stream, cli::Setup& setup) {
  ModelSpec& model = setup.model;
  if (model.experts == kAbsent && !stream.by_layer.empty())
    model.experts = static_cast<std::int64_t>(stream.by_layer.begin()->second.size());
  if (model.moe_layers.empty())
    for (const auto& [layer, counts] : stream.by_layer) model.moe_layers.push_back(layer);
  if (!flags.planning.model.empty()) fill_absent(model, cli::load_model_preset(flags.planning.model));
  const auto need = [](bool known, const char* what, const char* hint = "give --model PRESET, or a stream") {
    if (!known) throw Error(ErrorKind::usage, std::string(what) + " not known", hint);
  };
  need(model.experts > 0, "the number of experts is");
  need(!model.moe_layers.empty(), "the model's layers are");
  need(model.top_k > 0, "the number of experts per token is", "give --top-k N, or --model PRESET");
  if (model.top_k > model.experts)
    throw Error(ErrorKind::usage, fmt::format("{} experts per token, of {}", model.top_k, model.experts));
  fill_absent(setup.sized, model);
}

RatioCase read_case(const RatioFlags& flags) {
  StreamDemand stream;
  if (!flags.input.empty()) stream = read_stream(flags);
  else if (flags.planning.model.empty())
    throw Error(ErrorKind::usage, "there is neither a model nor a stream", "give --model PRESET, or a stream");
  RatioCase question;
  question.setup = cli::resolve(flags.planning, stream.header, "static");
  complete_model(flags, stream, question.setup);
  const cli::Setup& setup = question.setup;
  const int workers = static_cast<int>(setup.cluster.ffn_workers);
  double imbalance = 0;
  for (const int layer : setup.model.moe_layers) {
    const auto counts = stream.by_layer.find(layer);
    const std::vector<std::int64_t> none(setup.model.experts, 0);
    if (counts != stream.by_layer.end() && static_cast<std::int64_t>(counts->second.size()) != setup.model.experts)
      throw Error(
          ErrorKind::data,
          fmt::format("a demand of {} experts, where the model has {}", counts->second.size(), setup.model.experts),
          "is --model the preset of this stream?");
    question.shares.push_back(advice::shares_of(counts == stream.by_layer.end() ? none : counts->second));
    imbalance += advice::imbalance_of(question.shares.back(), workers);
  }
  question.measured_shares = !stream.by_layer.empty();
  question.sizes = {
      setup.model.experts, setup.model.top_k, setup.cluster.ffn_workers,
      flags.batch,         flags.context,     imbalance / static_cast<double>(setup.model.moe_layers.size())};
  if (setup.cost.rule != LoadRule::additive || !setup.cluster.workers.empty())
    cli::warn(
        "the formulas take FFN times as c0 + c1 x tiles + c2 x experts, the same on every worker; the simulator "
        "takes them as the cost file and the header say");
  question.coefficients = advice::coefficients(setup.cost, pipeline_cost(setup.profile, setup.sized), question.sizes);
  return question;
}

// The neighbours of `best` from 1 to `most`, half of it and twice it with `wide`; ascending.
std::vector<std::int64_t> neighbours(std::int64_t best, std::int64_t most, bool wide) {
  std::vector<std::int64_t> values = {best - 1, best, best + 1};
  if (wide) values.insert(values.end(), {best / 2, 2 * best});
  std::erase_if(values, [&](std::int64_t value) { return value < 1 || value > most; });
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

RatioAnswer answer(const RatioCase& question) {
  RatioAnswer found;
  found.provisioned = advice::provisioned_workers(question.coefficients);
  found.attention_workers = advice::best_workers(question.coefficients, kMostWorkers);
  found.stages = advice::stages(question.coefficients, found.attention_workers);
  found.microbatches =
      static_cast<std::int64_t>(std::ceil(std::min(kMostMicrobatches, advice::microbatches(found.stages))));
  found.most_workers = kMostWorkers;
  for (const std::int64_t workers : neighbours(found.attention_workers, kMostWorkers, true))
    found.workers.push_back(simulate_ratio(question, workers, found.microbatches));
  for (const std::int64_t m : neighbours(found.microbatches, 1 + static_cast<std::int64_t>(kMostMicrobatches), false))
    found.batches.push_back(simulate_ratio(question, found.attention_workers, m));
  found.three = simulate_ratio(question, found.attention_workers, 3);
  found.kv_tokens = found.microbatches * question.sizes.batch * question.sizes.context_tokens;
  found.kv_budget_tokens = kv_budget_tokens(question.setup.sized);
  return found;
}

void run_ratio(const RatioFlags& flags) {
  const RatioCase question = read_case(flags);
  const RatioAnswer found = answer(question);
  ByteWriter out("-");
  out.write(flags.json ? ratio_json(question, found) : ratio_text(question, found));
  out.finish();
}

}  // namespace

void add_ratio(cli::Command app) {
  cli::Command command = app.command(
      "ratio",
      "How many attention workers feed a group of FFN workers, and how many microbatches: published formulas on the\n"
      "cost model, each beside the simulator's word for the answer and its neighbours (docs/advice.md). Experts are\n"
      "equally popular, or as in a STREAM of demand.");
  const auto o = std::make_shared<RatioFlags>();
  command.option("STREAM", o->input, "Stream whose header and expert shares to use, - for standard input");
  cli::add_recover(command, o->recover);
  command.integer("--workers", o->planning.workers, "FFN workers of the group", 1, 4096).hide_default();
  command.integer("--batch", o->batch, "Sequences of a microbatch on each attention worker", 1, 1 << 16);
  command.integer("--context", o->context, "Cached tokens of each sequence", 0, 1 << 24);
  command.integer("--tile-tokens", o->planning.tile_tokens, "Rows of a grouped-GEMM tile (default 64)", 1, 1 << 20)
      .hide_default();
  command.integer("--top-k", o->planning.top_k, "Experts per token, where the header does not say", 1, 4'096)
      .hide_default();
  command.option("--model", o->planning.model, "Preset with the sizes a header lacks");
  command.option("--cost", o->planning.cost, "a100, h100, h200 or a cost FILE (default h100)");
  command.flag("--json", o->json, "One line of JSON instead of the tables");
  command.examples(
      {{"How many attention workers eight FFN workers need", "afore-plan ratio --model gpt-oss-20b --workers 8"},
       {"At another batch size and context, for a program",
        "afore-plan ratio --model gpt-oss-20b --workers 8 --batch 64 --context 4096 \\\n"
        "  --json > ratio.json"}});
  command.on_run([command, o] {
    if (o->input == "-") cli::refuse_terminal_stdin(o->input, command);
    run_ratio(*o);
  });
}

}  // namespace afore::plan
