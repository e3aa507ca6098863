// sglang-count: expert counts summed over a run, as they are or as steps drawn from them.
#include <fmt/core.h>

#include "common/cli.h"
#include "import.h"
#include "stream_out.h"
#include "trace/aggregate.h"
#include "trace/count_sampler.h"
#include "util/error.h"
#include "util/line_io.h"
#include "util/rng.h"
#include "wire/wire.h"

namespace afore::cli {
namespace {

constexpr std::size_t kMaxFileBytes = std::size_t{1} << 30;

void check(const ImportOptions& o) {
  if (o.inputs.size() != 1) throw Error(ErrorKind::usage, "--from sglang-count takes one FILE");
  const bool sampling = o.sample_steps > 0;
  if (sampling != (o.tokens > 0))
    throw Error(ErrorKind::usage, "--sample-steps and --tokens go together", "like --sample-steps 100 --tokens 8192");
  if (!sampling && o.microbatches > 1)
    throw Error(ErrorKind::usage, "--microbatches needs --sample-steps", "the bare counts are one target per layer");
}

int top_k_of(const ImportOptions& o, const ModelSpec* preset) {
  if (o.top_k > 0) return static_cast<int>(o.top_k);
  if (preset != nullptr) return static_cast<int>(preset->top_k);
  throw Error(ErrorKind::usage, "--top-k is required without --model", "how many experts each token uses");
}

ModelSpec model_of(const trace::Aggregate& aggregate, std::size_t rows, int top_k, const ModelSpec* preset) {
  ModelSpec model;
  model.layers = static_cast<std::int64_t>(rows);
  model.moe_layers = aggregate.moe_layers;
  model.experts = static_cast<std::int64_t>(aggregate.counts[0].size());
  model.top_k = top_k;
  if (preset != nullptr) fill_absent(model, *preset);
  return model;
}

std::string names(const std::vector<int>& layers) {
  std::string text;
  for (const int layer : layers) {
    if (!text.empty()) text += ", ";
    text += std::to_string(layer);
  }
  return text;
}

struct Counts {
  trace::Aggregate aggregate;
  ModelSpec model;
  std::vector<int> kept;  // rows of the aggregate, by position in model.moe_layers
};

void write_aggregate(RecordSink& out, const Counts& c) {
  for (std::size_t l = 0; l < c.kept.size(); ++l) {
    const int row = c.kept[l];
    Demand demand;
    demand.target = {0, c.model.moe_layers[l], 0};
    demand.tokens = c.aggregate.tokens[row];
    demand.counts = c.aggregate.counts[row];
    out.write_line(wire::to_json(demand));
  }
}

// Every layer and microbatch draws from a stream of its own, so neither --layers nor --microbatches changes the rest.
void write_samples(RecordSink& out, const Counts& c, const ImportOptions& o) {
  const auto microbatches = static_cast<std::size_t>(o.microbatches);
  std::vector<std::vector<double>> weights;
  std::vector<Rng> streams;
  for (std::size_t l = 0; l < c.kept.size(); ++l) {
    const auto& counts = c.aggregate.counts[c.kept[l]];
    weights.emplace_back(counts.begin(), counts.end());
    for (std::size_t m = 0; m < microbatches; ++m)
      streams.emplace_back(static_cast<std::uint64_t>(o.seed), fmt::format("sample/{}/{}", c.model.moe_layers[l], m));
  }
  trace::CountSampler sampler;
  Demand demand;
  demand.tokens = o.tokens;
  demand.counts.resize(c.model.experts);
  for (std::int64_t step = 0; step < o.sample_steps; ++step)
    for (std::size_t l = 0; l < c.kept.size(); ++l) {
      sampler.set_weights(weights[l]);
      for (std::size_t m = 0; m < microbatches; ++m) {
        demand.target = {step, c.model.moe_layers[l], static_cast<int>(m)};
        sampler.draw(streams[l * microbatches + m], o.tokens, static_cast<int>(c.model.top_k), demand.counts);
        out.write_line(wire::to_json(demand));
      }
    }
}

}  // namespace

void import_sglang_count(const ImportOptions& o) {
  check(o);
  const std::string& path = o.inputs[0];
  const ModelSpec* preset = o.model.empty() ? nullptr : &load_model_preset(o.model);
  const int top_k = top_k_of(o, preset);
  const auto bytes = read_file_bytes(path, kMaxFileBytes);
  const wire::LogicalCount file =
      wire::parse_logical_count({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path);
  Counts c;
  c.aggregate = trace::make_aggregate(file.counts, top_k, path);
  c.model = model_of(c.aggregate, file.counts.size(), top_k, preset);
  c.kept = select_layers(c.model, o.layers);
  keep_layers(c.model, c.kept);
  warn_of_unknown_sizes(c.model);
  if (!c.aggregate.dense_layers.empty())
    warn(fmt::format("{}: dropped dense layers without any assignment: {}", path, names(c.aggregate.dense_layers)));

  const bool sampling = o.sample_steps > 0;
  JsonObject workload;
  workload.add("form", sampling ? "sampled" : "aggregate");
  if (sampling) workload.add("tokens", o.tokens).add("steps", o.sample_steps);
  workload.add_raw("dense_layers", json_array(c.aggregate.dense_layers));
  RecordSink out(o.output);
  write_header(
      out, make_header(sampling ? "sampled" : "counts", static_cast<std::uint64_t>(o.seed), c.model, o.microbatches),
      workload);
  if (sampling) write_samples(out, c, o);
  else write_aggregate(out, c);
  out.finish();
}

}  // namespace afore::cli
