// Files of other systems: read by foreign_inputs.h, then a map, counts, or routing.
#include <fmt/core.h>

#include <algorithm>

#include "common/model_flags.h"
#include "foreign_inputs.h"
#include "import.h"
#include "routing_inputs.h"
#include "util/error.h"
#include "wire/foreign/convert.h"
#include "wire/foreign/layers.h"

namespace afore::cli {
namespace {

using wire::CountsFile;
using wire::MapFile;
using wire::RoutingFile;

void refuse_batching(const ImportOptions& o, const char* what) {
  refuse_for_file(o.concurrent != 0, "--concurrent", o, what);
  refuse_for_file(o.prefill_chunk != 0, "--prefill-chunk", o, what);
  refuse_for_file(o.steps != 0, "--steps", o, what);
  refuse_for_file(o.warmup_steps >= 0, "--warmup-steps", o, what);
}

void refuse_counting(const ImportOptions& o, const char* what) {
  refuse_for_file(o.sample_steps != 0, "--sample-steps", o, what);
  refuse_for_file(o.tokens != 0, "--tokens", o, what);
  refuse_for_file(o.sum, "--sum", o, what);
  refuse_for_file(o.allow_drop, "--allow-drop", o, what);
  refuse_for_file(!o.phase.empty(), "--phase", o, what);
}

void import_passes(const ImportOptions& o, const RoutingFile& routing, const ModelSpec& model) {
  std::vector<bool> warmup;
  for (const RoutingFile::Span& span : routing.spans) warmup.push_back(span.warmup);
  const bool physical = routing.ids_of == wire::ExpertIds::physical;
  CountsFile counts = wire::count_passes(routing, physical ? routing.cells : model.experts, o.inputs[0]);
  if (physical)
    counts = wire::to_logical(std::move(counts), routing.physical_to_logical,
                              model.experts == kAbsent ? 0 : model.experts, o.inputs[0]);
  import_counts(o, counts, model, warmup);
}

// The first rows of a request are its prompt's: what is decoded begins behind them, a prefill ends with them. Where no
// response says how long its prompt was, all rows serve for either.
void add_requests(const ImportOptions& o, const RoutingFile& routing, RoutingInputs& inputs) {
  for (const RoutingFile::Span& span : routing.spans) {
    const std::int64_t prompt = span.prompt_tokens;
    std::int64_t first = span.offset, tokens = span.tokens;
    if (o.concurrent > 0) first += prompt, tokens -= prompt;
    else if (prompt > 0) tokens = prompt;
    if (tokens <= 0) continue;
    inputs.requests.push_back({0, o.concurrent > 0 ? prompt : 0, tokens, first});
    inputs.rows += tokens;
  }
  if (inputs.requests.empty())
    throw Error(ErrorKind::data, o.inputs[0] + ": no response has a token beyond its prompt",
                "--prefill-chunk reads prompts");
}

// Requests, batched anew like those of routing-ids files.
void import_requests_routing(const ImportOptions& o, const RoutingFile& routing, const ModelSpec& flags) {
  const std::string& name = o.inputs[0];
  const wire::LayerRows layers = wire::resolve_layers(routing.axis, routing.rows, routing.layers, flags, nullptr, name);
  if (flags.experts == kAbsent)
    throw Error(ErrorKind::usage, name + ": the file does not say how many experts there are",
                "give --model PRESET or --experts N");
  RoutingInputs inputs;
  inputs.domains = {o.from};
  inputs.routing_model = flags.name;
  inputs.model = flags;
  inputs.model.layers = layers.hidden_layers;
  inputs.model.moe_layers = layers.moe_layers;
  inputs.model.top_k = routing.top_k;
  std::vector<std::uint16_t> ids;
  for (std::int64_t token = 0; token < routing.tokens; ++token)
    for (const int row : layers.rows)
      for (std::int64_t k = 0; k < routing.top_k; ++k) {
        const std::int32_t id = routing.ids[(token * routing.rows + row) * routing.top_k + k];
        if (id < 0)
          throw Error(ErrorKind::data, fmt::format("{}: token {} has no experts in layer row {}", name, token, row),
                      "is it a dense layer? --model or --moe-layers says which rows are not");
        ids.push_back(static_cast<std::uint16_t>(id));
      }
  const trace::RoutingShape shape{routing.tokens, static_cast<int>(layers.rows.size()), static_cast<int>(routing.top_k),
                                  static_cast<int>(flags.experts)};
  inputs.tables.emplace_back(std::move(ids), shape, name);
  add_requests(o, routing, inputs);
  import_routing(o, std::move(inputs));
}

}  // namespace

void import_foreign(const ImportOptions& o) {
  for (std::size_t i = 1; i < o.inputs.size(); ++i)
    if (std::find(o.inputs.begin(), o.inputs.begin() + static_cast<std::ptrdiff_t>(i), o.inputs[i]) !=
        o.inputs.begin() + static_cast<std::ptrdiff_t>(i))
      throw Error(ErrorKind::usage, o.inputs[i] + " is named twice, and would count twice");
  const ModelSpec model = model_of({o.model, o.moe_layers, o.experts, o.hidden_layers, 0, o.top_k});
  const ForeignTable table = load_foreign(o, model);
  if (const auto* map = std::get_if<MapFile>(&table)) {
    refuse_batching(o, "a map");
    refuse_counting(o, "a map");
    refuse_for_file(o.microbatches != 1, "--microbatches", o, "a map");
    import_map(o, *map, model);
  } else if (const auto* counts = std::get_if<CountsFile>(&table)) {
    refuse_batching(o, "counts");
    refuse_for_file(o.workers != 0 && o.from != "eplb", "--workers", o, "counts");
    import_counts(o, *counts, model, {});
  } else {
    const auto& routing = std::get<RoutingFile>(table);
    if (routing.passes) {
      refuse_batching(o, "whole passes");
      import_passes(o, routing, model);
    } else {
      refuse_counting(o, "requests");
      import_requests_routing(o, routing, model);
    }
  }
}

}  // namespace afore::cli
