// Expert counts of other systems: as the steps they were recorded in, as one sum, or as steps drawn from the sum.
#include <fmt/core.h>

#include <algorithm>

#include "common/messages.h"
#include "import.h"
#include "stream_out.h"
#include "trace/conservation.h"
#include "trace/count_sampler.h"
#include "util/error.h"
#include "util/rng.h"
#include "wire/foreign/layers.h"
#include "wire/json_tree.h"
#include "wire/wire.h"

namespace afore::cli {
namespace {

constexpr std::int64_t kMostExperts = 1 << 20;  // docs/records.md, what is refused

enum class Form { steps, sum, sampled };

struct Job {
  const ImportOptions& options;
  const wire::CountsFile& file;
  const std::vector<bool>& warmup;  // by step, or empty
  Form form;
  ModelSpec model;        // of the kept layers
  std::vector<int> rows;  // of the file, by position in model.moe_layers
  std::vector<int> dense_rows;
  const std::string& name;                  // for messages
  std::vector<trace::TokenCount> tokens{};  // by step and position in rows

  std::span<const std::int64_t> counts(std::int64_t step, int row) const {
    return std::span(file.counts)
        .subspan(static_cast<std::size_t>((step * file.rows + row) * file.cells), static_cast<std::size_t>(file.cells));
  }
};

void check(const ImportOptions& o, Form form) {
  if ((o.sample_steps > 0) != (o.tokens > 0))
    throw Error(ErrorKind::usage, "--sample-steps and --tokens go together", "like --sample-steps 100 --tokens 8192");
  if (form == Form::sum && o.microbatches > 1)
    throw Error(ErrorKind::usage, "--microbatches needs --sample-steps", "the bare counts are one target per layer");
  if (form == Form::sampled && (o.allow_drop || !o.phase.empty()))
    throw Error(ErrorKind::usage, "--allow-drop and --phase do not apply to drawn steps");
}

std::int64_t top_k_of(const wire::CountsFile& file, const ModelSpec& model) {
  if (model.top_k != kAbsent) {
    if (file.top_k && *file.top_k != model.top_k)
      throw Error(ErrorKind::usage, fmt::format("the file says {} experts per token, not {}", *file.top_k, model.top_k),
                  "is --model the right one?");
    return model.top_k;
  }
  if (file.top_k) return *file.top_k;
  throw Error(ErrorKind::usage, "--top-k is required without --model", "how many experts each token uses");
}

// Rows without any count, in any step.
std::vector<bool> empty_rows(const wire::CountsFile& file) {
  std::vector<bool> empty(static_cast<std::size_t>(file.rows), true);
  for (std::size_t i = 0; i < file.counts.size(); ++i)
    if (file.counts[i] != 0) empty[i / static_cast<std::size_t>(file.cells) % empty.size()] = false;
  return empty;
}

Phase phase_from(const std::string& name) {
  return name == "decode" ? Phase::decode : name == "prefill" ? Phase::prefill : Phase::mixed;
}

// All steps but those of warm-up added up: [rows][cells].
wire::CountsFile summed(const wire::CountsFile& file, const std::vector<bool>& warmup, const std::string& name) {
  const auto size = static_cast<std::size_t>(file.rows * file.cells);
  wire::CountsFile sum =
      wire::counts_of({file.rows, file.cells}, std::vector<std::int64_t>(size, 0), file.axis, file.ids);
  sum.layers = file.layers;
  sum.top_k = file.top_k;
  for (std::size_t i = 0; i < file.counts.size(); ++i) {
    if (!warmup.empty() && warmup[i / size]) continue;
    std::int64_t& total = sum.counts[i % size];
    total += file.counts[i];  // both at most 2^53
    if (total > wire::kMaxInteger)
      throw Error(ErrorKind::data, name + ": the counts of an expert sum to more than 2^53");
  }
  return sum;
}

std::string place_of(const Job& job, std::int64_t step, std::size_t l) {
  std::string place = job.name + ": ";
  if (job.form == Form::steps)
    place += fmt::format("step {}, ", job.file.step_ids.empty() ? step : job.file.step_ids[step]);
  return place + fmt::format("layer {}", job.model.moe_layers[l]);
}

void write_target(RecordSink& out, const Job& job, std::int64_t step, std::size_t l, Demand& demand) {
  const auto counts = job.counts(step, job.rows[l]);
  const trace::TokenCount& tokens = job.tokens[static_cast<std::size_t>(step) * job.rows.size() + l];
  demand.tokens = tokens.tokens;
  demand.dropped = tokens.dropped;
  demand.counts.assign(counts.begin(), counts.end());
  out.write_line(wire::to_json(demand));
}

// Before a line goes out: what is refused leaves nothing half written.
void count_tokens(Job& job) {
  const bool allow_drop = job.options.allow_drop;
  for (std::int64_t step = 0; step < job.file.steps; ++step)
    for (std::size_t l = 0; l < job.rows.size(); ++l) {
      const trace::TokenCount count =
          trace::tokens_of(job.counts(step, job.rows[l]), job.model.top_k, allow_drop, place_of(job, step, l));
      if (job.form == Form::sampled && count.tokens == 0)
        throw Error(ErrorKind::data, place_of(job, step, l) + ": no counts to draw steps from",
                    "--layers leaves layers out");
      job.tokens.push_back(count);
    }
}

bool idle(const Job& job, std::int64_t step) {
  for (const int row : job.rows) {
    const auto counts = job.counts(step, row);
    if (std::any_of(counts.begin(), counts.end(), [](std::int64_t c) { return c > 0; })) return false;
  }
  return true;
}

// Those with tokens. Passes that follow each other are the microbatches of one step; a last step that would lack some
// is left out.
std::vector<std::int64_t> busy_passes(const Job& job) {
  std::vector<std::int64_t> passes;
  for (std::int64_t step = 0; step < job.file.steps; ++step)
    if (!idle(job, step)) passes.push_back(step);
  const std::int64_t idle_passes = job.file.steps - static_cast<std::int64_t>(passes.size());
  if (idle_passes > 0) warn(fmt::format("{}: left out {} passes without tokens", job.name, idle_passes));
  const auto microbatches = static_cast<std::size_t>(job.options.microbatches);
  if (passes.size() < microbatches)
    throw Error(ErrorKind::usage, fmt::format("{}: {} passes with tokens, fewer than --microbatches {}", job.name,
                                              passes.size(), microbatches));
  if (const std::size_t rest = passes.size() % microbatches; rest > 0)
    warn(fmt::format("{}: left out the last {} passes, which are no step of {} microbatches", job.name, rest,
                     microbatches));
  passes.resize(passes.size() / microbatches * microbatches);
  return passes;
}

void write_steps(RecordSink& out, const Job& job, const std::vector<std::int64_t>& passes) {
  const auto microbatches = static_cast<std::size_t>(job.options.microbatches);
  const Phase phase = job.options.phase.empty() ? Phase::mixed : phase_from(job.options.phase);
  std::int64_t warmup = 0;
  Demand demand;
  for (std::size_t first = 0; first + microbatches <= passes.size(); first += microbatches)
    for (std::size_t l = 0; l < job.rows.size(); ++l)
      for (std::size_t m = 0; m < microbatches; ++m) {
        const std::int64_t pass = passes[first + m];
        const bool dummy = !job.warmup.empty() && job.warmup[pass];
        if (l == 0 && dummy) ++warmup;
        demand.phase = dummy ? Phase::warmup : phase;
        demand.target = {static_cast<std::int64_t>(first / microbatches), job.model.moe_layers[l], static_cast<int>(m)};
        write_target(out, job, pass, l, demand);
      }
  if (warmup > 0)
    warn(fmt::format("{}: {} passes in which all tokens chose alike are the engine's warm-up, and marked so", job.name,
                     warmup));
}

void write_sum(RecordSink& out, const Job& job) {
  Demand demand;
  if (!job.options.phase.empty()) demand.phase = phase_from(job.options.phase);
  for (std::size_t l = 0; l < job.rows.size(); ++l) {
    demand.target = {0, job.model.moe_layers[l], 0};
    write_target(out, job, 0, l, demand);
  }
}

// Every layer and microbatch draws from a stream of its own, so neither --layers nor --microbatches changes the rest.
void write_samples(RecordSink& out, const Job& job) {
  const ImportOptions& o = job.options;
  const auto microbatches = static_cast<std::size_t>(o.microbatches);
  std::vector<std::vector<double>> weights;
  std::vector<Rng> streams;
  for (std::size_t l = 0; l < job.rows.size(); ++l) {
    const auto counts = job.counts(0, job.rows[l]);
    weights.emplace_back(counts.begin(), counts.end());
    for (std::size_t m = 0; m < microbatches; ++m)
      streams.emplace_back(static_cast<std::uint64_t>(o.seed), fmt::format("sample/{}/{}", job.model.moe_layers[l], m));
  }
  trace::CountSampler sampler;
  Demand demand;
  demand.tokens = o.tokens;
  demand.counts.resize(job.model.experts);
  for (std::int64_t step = 0; step < o.sample_steps; ++step)
    for (std::size_t l = 0; l < job.rows.size(); ++l) {
      sampler.set_weights(weights[l]);
      for (std::size_t m = 0; m < microbatches; ++m) {
        demand.target = {step, job.model.moe_layers[l], static_cast<int>(m)};
        sampler.draw(streams[l * microbatches + m], o.tokens, static_cast<int>(job.model.top_k), demand.counts);
        out.write_line(wire::to_json(demand));
      }
    }
}

// The file's layers become the model's, less those that --layers leaves out.
void resolve_model(Job& job, const ModelSpec& model) {
  const std::vector<bool> empty = empty_rows(job.file);
  if (std::all_of(empty.begin(), empty.end(), [](bool e) { return e; }))
    throw Error(ErrorKind::data, job.name + ": no layer has any assignment");
  const wire::LayerRows layers =
      wire::resolve_layers(job.file.axis, job.file.rows, job.file.layers, model, &empty, job.name);
  if (model.experts != kAbsent && model.experts != job.file.cells)
    throw Error(ErrorKind::data,
                fmt::format("{}: counts of {} experts, the model has {}", job.name, job.file.cells, model.experts),
                "is --model the right one?");
  if (job.file.cells > kMostExperts)
    throw Error(ErrorKind::data,
                fmt::format("{}: {} experts are more than any record takes", job.name, job.file.cells));
  job.model = model;
  job.model.layers = layers.hidden_layers;
  job.model.moe_layers = layers.moe_layers;
  job.model.experts = job.file.cells;
  job.model.top_k = top_k_of(job.file, model);
  job.dense_rows = layers.dense_rows;
  const std::vector<int> kept = select_layers(job.model, job.options.layers);
  keep_layers(job.model, kept);
  for (const int position : kept) job.rows.push_back(layers.rows[position]);
}

std::string names(const std::vector<int>& layers) {
  std::string text;
  for (const int layer : layers) text += (text.empty() ? "" : ", ") + std::to_string(layer);
  return text;
}

JsonObject workload_of(const Job& job) {
  static constexpr const char* kForms[] = {"passes", "aggregate", "sampled"};
  JsonObject workload;
  workload.add("form", kForms[static_cast<int>(job.form)]);
  if (job.form == Form::sampled) workload.add("tokens", job.options.tokens).add("steps", job.options.sample_steps);
  if (job.form == Form::steps) workload.add("passes", job.file.steps);
  workload.add_raw("dense_layers", json_array(job.dense_rows));
  return workload;
}

}  // namespace

void import_counts(const ImportOptions& o, const wire::CountsFile& counts, const ModelSpec& model,
                   const std::vector<bool>& warmup) {
  const bool one_pass = counts.steps == 1 && (warmup.empty() || !warmup[0]);  // a sum, or as good as one
  const Form form = o.sample_steps > 0 ? Form::sampled : one_pass || o.sum ? Form::sum : Form::steps;
  check(o, form);
  const std::string& name = o.inputs[0];
  const wire::CountsFile total = form == Form::steps ? wire::CountsFile{} : summed(counts, warmup, name);
  Job job{o, form == Form::steps ? counts : total, warmup, form, {}, {}, {}, name};
  resolve_model(job, model);
  count_tokens(job);
  warn_of_unknown_sizes(job.model);
  if (!job.dense_rows.empty() && model.moe_layers.empty())
    warn(fmt::format("{}: dropped dense layers without any assignment: {}", name, names(job.dense_rows)));
  static constexpr const char* kSources[] = {"recorded", "counts", "sampled"};
  const std::vector<std::int64_t> passes = form == Form::steps ? busy_passes(job) : std::vector<std::int64_t>();
  RecordSink out(o.output);
  write_header(
      out, make_header(kSources[static_cast<int>(form)], static_cast<std::uint64_t>(o.seed), job.model, o.microbatches),
      workload_of(job));
  if (form == Form::steps) write_steps(out, job, passes);
  else if (form == Form::sum) write_sum(out, job);
  else write_samples(out, job);
  out.finish();
}

}  // namespace afore::cli
