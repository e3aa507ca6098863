#pragma once
// What a model and a cluster look like to planning and simulation. Absent values are kAbsent, so that a
// header may gain them on its way down a pipe; `require_*` in the tools says which flag supplies one.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace afore {

inline constexpr std::int64_t kAbsent = -1;

struct ModelSpec {
  std::string name;                // empty = absent
  std::int64_t layers = kAbsent;   // all hidden layers, dense ones included
  std::vector<int> moe_layers;     // absolute indices, ascending; empty = absent
  std::int64_t experts = kAbsent;  // routed experts per MoE layer
  std::int64_t top_k = kAbsent;
  std::int64_t hidden = kAbsent;
  std::int64_t moe_intermediate = kAbsent;
  std::int64_t expert_bytes = kAbsent;        // weights of one routed expert as stored
  std::int64_t attention_bytes = kAbsent;     // weights read per layer on the attention side, shared experts included
  std::int64_t kv_bytes_per_token = kAbsent;  // per layer
  bool operator==(const ModelSpec&) const = default;
};

// What sets an FFN worker apart from the others, in thousandths.
struct WorkerTraits {
  static constexpr std::int64_t kLeastPermille = 100, kMostPermille = 100'000;
  std::int64_t slowdown_permille = 1000;       // its c1 and c2, of the cost's
  std::int64_t copy_slowdown_permille = 1000;  // a copy into or out of it, of copy_ns
  bool draining = false;                       // takes no copies, and work only of experts that stand nowhere else
  bool operator==(const WorkerTraits&) const = default;
};

struct ClusterSpec {
  std::int64_t attention_workers = kAbsent;
  std::int64_t ffn_workers = kAbsent;
  std::int64_t redundant_slots = kAbsent;  // per FFN worker and layer
  std::int64_t tile_tokens = kAbsent;      // M dimension of the grouped-GEMM tile
  std::int64_t microbatches = kAbsent;
  std::vector<WorkerTraits> workers{};  // by FFN worker; empty = all alike
  bool operator==(const ClusterSpec&) const = default;
};

// Public model shapes (sources in docs/metrics.md). Lookup is by preset name, e.g. "glm-4.5-air".
std::span<const ModelSpec> model_presets();
const ModelSpec* find_model_preset(const std::string& name);  // nullptr when unknown

// Fills every absent value of `spec` from `preset`; present values win. moe_layers are kept when present.
void fill_absent(ModelSpec& spec, const ModelSpec& preset);

}  // namespace afore
