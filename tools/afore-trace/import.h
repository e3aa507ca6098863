#pragma once
// Options of `afore-trace import`, shared by its formats.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model_spec.h"

namespace afore::cli {

struct ImportOptions {
  std::string from;
  std::vector<std::string> inputs;  // FILE or NAME=FILE
  std::vector<std::string> metas;   // one per input
  std::string model, layers, phases, phase_change = "abrupt", output = "-";
  std::int64_t seed = 0;
  std::int64_t microbatches = 1;
  // routing-ids
  std::int64_t concurrent = 0, prefill_chunk = 0;  // 0 = not given
  std::int64_t steps = 0, warmup_steps = -1;       // 0 and -1 = not given
  // sglang-count
  std::int64_t top_k = 0, sample_steps = 0, tokens = 0;  // 0 = not given
  // azure-csv, mooncake
  std::vector<std::string> routing;  // as inputs, one per meta
  std::int64_t requests = 0;         // 0 = not given
  std::optional<double> rate_scale, start_s, window_s;
};

// Once per run, where the header will lack what planning needs; names the presets with as many experts.
void warn_of_unknown_sizes(const ModelSpec& model);

void import_routing_ids(const ImportOptions& options);
void import_sglang_count(const ImportOptions& options);
void import_requests(const ImportOptions& options);  // azure-csv, mooncake

}  // namespace afore::cli
