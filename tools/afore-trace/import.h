#pragma once
// Options of `afore-trace import`, shared by its formats.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model_spec.h"
#include "wire/foreign/tables.h"

namespace afore::cli {

struct ImportOptions {
  std::string from;
  std::vector<std::string> inputs;  // FILE or NAME=FILE
  std::vector<std::string> metas;   // one per input
  std::string model, layers, phases, phase_change = "abrupt", output = "-";
  std::int64_t seed = 0;
  std::int64_t microbatches = 1;
  // routing of requests
  std::int64_t concurrent = 0, prefill_chunk = 0;  // 0 = not given
  std::int64_t steps = 0, warmup_steps = -1;       // 0 and -1 = not given
  bool rows = false;                               // each token's too
  // counts
  std::int64_t sample_steps = 0, tokens = 0;  // 0 = not given
  bool sum = false, allow_drop = false;
  std::string phase;  // empty = not given
  // what other systems' files leave open
  std::int64_t top_k = 0, experts = 0, hidden_layers = 0, workers = 0;  // 0 = not given
  std::string moe_layers, layer_axis, map, model_class, iterations;     // empty = not given
  // azure-csv, mooncake
  std::vector<std::string> routing;  // as inputs, one per meta
  std::int64_t requests = 0;         // 0 = not given
  std::optional<double> rate_scale, start_s, window_s;
};

// Once per run, where the header will lack what planning needs; names the presets with as many experts.
void warn_of_unknown_sizes(const ModelSpec& model);

struct RoutingInputs;
void import_routing_ids(const ImportOptions& options);
void import_requests(const ImportOptions& options);  // azure-csv, mooncake
void import_foreign(const ImportOptions& options);   // all other formats

// The tables that import_foreign() reads, by shape. `model`: model_of_flags().
// `warmup` by step, may be empty: steps of phase warmup.
void import_counts(const ImportOptions& options, const wire::CountsFile& counts, const ModelSpec& model,
                   const std::vector<bool>& warmup);
void import_map(const ImportOptions& options, const wire::MapFile& map, const ModelSpec& model);
void import_routing(const ImportOptions& options, RoutingInputs inputs);

}  // namespace afore::cli
