// Routing-ids files as afore-trace import takes them: the JSON index, a NUL, the ids. What is accepted is batched, and
// the records made of it must be ones our own reader takes.
#include <vector>

#include "batch/continuous.h"
#include "batch/prefill.h"
#include "fuzz.h"
#include "trace/preset_match.h"
#include "trace/routing_table.h"
#include "wire/wire.h"

namespace afore {
namespace {

constexpr std::int64_t kMostIds = 1 << 16;

// With an odd first byte the ids are repeated or cut to the length the index asks for: otherwise only one mutation in
// very many would get past that check.
std::vector<std::uint8_t> ids_for(std::string_view ids, std::int64_t expected, bool fit) {
  std::vector<std::uint8_t> out(ids.begin(), ids.end());
  if (!fit || ids.empty() || expected > kMostIds) return out;
  out.resize(static_cast<std::size_t>(expected));
  for (std::size_t i = ids.size(); i < out.size(); ++i) out[i] = out[i - ids.size()];
  return out;
}

void check_step(const trace::RoutingTable& table, const ModelSpec& model, std::span<const batch::MicrobatchStep> step,
                wire::RecordDecoder& decoder) {
  for (const batch::MicrobatchStep& m : step) {
    Batch batch;
    batch.sequences = m.sequences;
    batch.prefill_tokens = m.prefill_tokens;
    batch.kv_tokens = m.kv_tokens;
    decoder.decode(wire::to_json(batch), 2);
    for (int layer = 0; layer < table.shape().layers; ++layer) {
      Demand demand;
      demand.target.layer = model.moe_layers[static_cast<std::size_t>(layer)];
      demand.tokens = static_cast<std::int64_t>(m.rows.size());
      demand.counts.assign(static_cast<std::size_t>(model.experts), 0);
      for (const batch::TokenRow& row : m.rows)
        for (const std::uint16_t expert : table.experts_of(row.row, layer)) ++demand.counts.at(expert);
      decoder.decode(wire::to_json(demand), 3);
    }
  }
}

void import(std::string_view index, std::string_view ids, bool fit) {
  const wire::RoutingIdsMeta meta = wire::parse_routing_ids_meta(index, "meta.json");
  const trace::RoutingShape shape{meta.tokens, meta.layers, meta.top_k, meta.experts};
  const std::int64_t expected = trace::routing_bytes(shape, "meta.json");
  const trace::RoutingTable table(ids_for(ids, expected, fit), shape, "ids.u8");
  Header header;
  header.model = trace::recorded_model(meta.model_name, meta.layers, meta.moe_layers, meta.experts, meta.top_k,
                                       trace::match_preset(meta.model_name));
  wire::RecordDecoder decoder("own");
  decoder.decode(wire::to_json(header), 1);
  std::vector<batch::Request> requests;
  for (const auto& r : meta.requests) requests.push_back({0, r.prompt_tokens, r.tokens, r.offset});
  if (table.shape().layers > 64) return;  // more of the same
  const batch::PhaseSchedule schedule({{{0}, 2}}, 1, 3);
  batch::ContinuousComposer decode(requests, schedule, {.concurrent = 3, .microbatches = 2, .seed = 1});
  batch::PrefillComposer prefill(requests, schedule, {.chunk_tokens = 5, .microbatches = 2});
  for (int step = 0; step < 3; ++step) {
    check_step(table, header.model, decode.next_step(), decoder);
    check_step(table, header.model, prefill.next_step(), decoder);
  }
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  std::string_view rest = fuzz::text_of(data, size);
  if (rest.empty()) return 0;
  const bool fit = (rest[0] & 1) != 0;
  rest.remove_prefix(1);
  const std::string_view index = rest.substr(0, rest.find('\0'));
  rest.remove_prefix(std::min(rest.size(), index.size() + 1));
  fuzz::refuses([&] { import(index, rest, fit); });
  return 0;
}
