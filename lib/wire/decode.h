#pragma once
// One decoder per record kind; RecordDecoder chooses. Each checks its record against the header, where there is one.
#include <optional>

#include "core/records.h"
#include "wire/json_tree.h"
#include "wire/wire.h"

namespace afore::wire {

// Upper bound of every layer, expert, worker, slot and microbatch number: indices are ints, and a hostile header must
// not make a reader reserve memory by it.
inline constexpr std::int64_t kMaxIndex = std::int64_t{1} << 20;

// What a record is checked against. Unknown sizes are kMaxIndex.
struct DecodeContext {
  const Header* header = nullptr;  // null before one was seen
  const ReadOptions* options = nullptr;
  std::int64_t demand_experts = kAbsent;  // counts in the stream's first demand

  std::int64_t experts() const;
  std::int64_t ffn_workers() const;
  std::optional<std::int64_t> top_k() const;
};

Target read_target(ObjectReader& record, const DecodeContext& context);
int read_layer(ObjectReader& record, const DecodeContext& context);
Objective read_objective(JsonValue value);
LoadRule read_load_rule(JsonValue value);
std::vector<std::int64_t> read_counts(JsonValue array, const char* noun);
std::vector<std::string> read_strings(JsonValue array);

// What contradicts itself in a model, "" when nothing does.
std::string model_fault(const ModelSpec& model);
Header decode_header(ObjectReader& record, bool* has_seed);
Batch decode_batch(ObjectReader& record, const DecodeContext& context);
Demand decode_demand(ObjectReader& record, const DecodeContext& context);
Routing decode_routing(ObjectReader& record, const DecodeContext& context);
Prediction decode_prediction(ObjectReader& record, const DecodeContext& context);
PlacementRecord decode_placement(ObjectReader& record, const DecodeContext& context);
Plan decode_plan(ObjectReader& record, const DecodeContext& context);
Observed decode_observed(ObjectReader& record, const DecodeContext& context);
Operation decode_operation(ObjectReader& record, const DecodeContext& context);
SequenceRecord decode_sequence(ObjectReader& record, const DecodeContext& context);
RequestRecord decode_request(ObjectReader& record);
Completion decode_completion(ObjectReader& record);
Summary decode_summary(ObjectReader& record);

}  // namespace afore::wire
