#pragma once
// What every producer of a stream shares: the header with its "workload" object, and the model's layers.
//
// "workload" says how the demand was made; the header's other readers pass it through (docs/records.md: additions).
//   routing:    form (decode, prefill), concurrent | chunk_tokens, phase_change, warmup_steps, steps, requests,
//               repeats, routing_model, domains, phases [{domains, steps}]
//   sampled:    form, tokens, steps, dense_layers      counts: form, dense_layers
//   recorded:   form (passes), passes, dense_layers    placement: form (file format), dense_layers
//   requests:   form (file format), requests, rate_scale, [start_s, window_s], routing_model, domains, sequences and
//               what they stand for (prefill, wrap, draw)
//   synthetic:  form, popularity, skew, drift, burst, switches, tokens, warmup_steps, steps
#include <cstdint>
#include <string>
#include <vector>

#include "common/record_sink.h"
#include "core/records.h"
#include "json_object.h"

namespace afore::cli {

Header make_header(const std::string& source, std::uint64_t seed, const ModelSpec& model, std::int64_t microbatches);
void write_header(RecordSink& out, const Header& header, const JsonObject& workload);

// Positions in model.moe_layers of the layers that `list` ("1-3,7", empty = all) names. Error{usage} for another layer.
std::vector<int> select_layers(const ModelSpec& model, const std::string& list);
// Keeps only those.
void keep_layers(ModelSpec& model, const std::vector<int>& positions);

}  // namespace afore::cli
