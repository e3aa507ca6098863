#pragma once
// The only place with hardware formulas. A HardwareProfile is what a cost file holds; LayerCost is what planning
// and simulation use: integer nanoseconds for one model, tile size and machine. Formulas and provenance of the
// defaults: docs/metrics.md.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/calibration.h"
#include "core/ids.h"
#include "core/model_spec.h"

namespace afore {

// How a kernel's time grows with tiles and activated experts: one after the other, or whichever takes longer.
enum class LoadRule { additive, roofline };
const char* to_string(LoadRule rule);

struct HardwareProfile {
  std::string name;
  double flops_per_s = 0;         // dense tensor-core rate at the stored precision
  double flops_efficiency = 1;    // achieved share in a grouped GEMM
  double memory_bytes_per_s = 0;  // HBM
  double memory_efficiency = 1;
  double link_bytes_per_s = 0;  // attention <-> FFN, per worker and direction
  double link_efficiency = 1;
  Nanos link_latency_ns = 0;
  double copy_bytes_per_s = 0;  // achieved by expert copies between FFN workers, per worker and direction
  Nanos copy_latency_ns = 0;
  Nanos ffn_c0_ns = 0;           // per target: launches, permute, combine
  Nanos attention_c0_ns = 0;     // per layer: launches, gate
  Nanos control_latency_ns = 0;  // demand to scheduler, and plan to FFN workers, each
  Nanos scheduler_ns = 0;        // the scheduler's own time per target
  Nanos sampling_ns = 0;         // per microbatch and step
  Nanos ffn_c1_ns = kAbsent;     // measured values, when present, replace the derived ones
  Nanos ffn_c2_ns = kAbsent;
  std::int64_t ffn_tile_tokens = kAbsent;  // the tile that measured values are for
  double source_bytes_per_s = 25.6e9;  // reading weights from where they come from, per worker; cost files may lack it
  LoadRule ffn_rule = LoadRule::additive;  // cost files may lack it
  // Measured times of the attention side, in ns per token; with both of the first, attention takes attention_c0_ns and
  // their sum, else what the rates say. Negative = absent.
  double attention_token_ns = -1;         // of one new token in one layer
  double attention_kv_ns = -1;            // of one cached token that a layer reads
  double step_token_ns = -1;              // of one new token of a step, in its first attention: embedding, dense layers
  double sampling_token_ns = -1;          // of one sequence, on top of sampling_ns
  std::optional<Calibration> measured{};  // what measured copies and FFN times rest on
  bool operator==(const HardwareProfile&) const = default;
};

// Built-in profiles a100, h100, h200, and cpu: a core of a server.
const HardwareProfile* find_hardware_profile(const std::string& name);  // nullptr when unknown
// The same machine `factor` times as slow in everything. Error{data} for times of over a second.
HardwareProfile slowed(HardwareProfile profile, double factor);
std::vector<std::string> hardware_profile_names();

// A worker's load of what takes `compute` and `weights` each by itself.
inline std::int64_t load_by(LoadRule rule, std::int64_t compute, std::int64_t weights) {
  return rule == LoadRule::additive ? compute + weights : compute > weights ? compute : weights;
}

// FFN time of a worker = c0 + c1*tiles + c2*activated experts, or under the roofline rule c0 + max(c1*tiles,
// c2*activated experts).
struct LayerCost {
  Nanos c0_ns = 0;
  Nanos c1_ns = 1;  // per tile
  Nanos c2_ns = 0;  // per activated expert (its weights are read once)
  std::int64_t tile_tokens = 1;
  std::int64_t expert_bytes = 0;
  Nanos copy_ns = 0;  // one expert through one port, latency included
  LoadRule rule = LoadRule::additive;

  Nanos load_ns(std::int64_t tiles, std::int64_t activated) const {  // without c0
    return load_by(rule, c1_ns * tiles, c2_ns * activated);
  }
  Nanos ffn_ns(std::int64_t tiles, std::int64_t activated) const { return c0_ns + load_ns(tiles, activated); }
};

// The same where workers differ, by their traits (empty = all alike): a worker's load times its slowdown, rounded up;
// c0 is everybody's. A copy takes copy_ns times the slower of its two ends, rounded up.
Nanos ffn_ns(const LayerCost& cost, std::span<const WorkerTraits> traits, int worker, std::int64_t tiles,
             std::int64_t activated);
Nanos copy_ns(const LayerCost& cost, std::span<const WorkerTraits> traits, int from, int to);
bool has_draining(std::span<const WorkerTraits> traits);

// c1 = tile_tokens * 6 * hidden * moe_intermediate / (flops * efficiency), c2 = expert_bytes / (memory * efficiency),
// both at least 1 ns, unless the profile carries measured ones. Needs hidden, moe_intermediate, expert_bytes or
// measured values: otherwise Error{usage} naming what is absent. Error{data} for a unit of over a second.
LayerCost layer_cost(const HardwareProfile& profile, const ModelSpec& model, std::int64_t tile_tokens);

// Reading one expert again from its source, after its last replica was lost: copy latency + bytes / rate.
Nanos reload_ns(const HardwareProfile& profile, const LayerCost& cost);

// Times of the attention side and of the links, for the simulator. Both throw Error{data} for 1e15 ns and more.
struct PipelineCost {
  Nanos attention_c0_ns = 0;
  double attention_weight_ns = 0;     // reading the attention weights of a layer once
  double kv_ns_per_token = 0;         // reading one cached token
  double attention_ns_per_token = 0;  // arithmetic of one new token (projections)
  double link_ns_per_byte = 0;
  Nanos link_latency_ns = 0;
  std::int64_t activation_bytes = 0;  // one token's hidden state
  Nanos control_latency_ns = 0;
  Nanos scheduler_ns = 0;
  Nanos sampling_ns = 0;
  double step_token_ns = 0;
  double sampling_token_ns = 0;
  bool additive = false;  // attention's times are measured, and add up

  // c0 + max(memory, arithmetic) (roofline of one attention layer), or c0 + their sum; a step's first one has the
  // tokens' way to it besides.
  Nanos attention_ns(std::int64_t tokens, std::int64_t kv_tokens, bool first_in_step = false) const;
  Nanos sample_ns(std::int64_t sequences) const;  // of one microbatch's step on one worker
  // A double, as products of accepted sizes may leave 64 bits.
  Nanos transfer_ns(double bytes) const;
};
PipelineCost pipeline_cost(const HardwareProfile& profile, const ModelSpec& model);

// Tokens an attention worker can cache, all layers: 64 GiB of them, what an 80 GB device has left beside weights and
// activations. An assumption; needs hidden or kv_bytes_per_token.
std::int64_t kv_budget_tokens(const ModelSpec& model);

struct Copy {
  int expert = 0;
  int from = 0;
  int to = 0;
  int slot = 0;  // kStagingSlot = the staging buffer
  bool operator==(const Copy&) const = default;
};

// One copy, named the same on both ends: the serial of the plan that lists it and its place there, those for other
// layers last.
struct CopyId {
  std::int64_t serial = 0;
  int index = 0;
  auto operator<=>(const CopyId&) const = default;
};

// When the last of `copies` ends, from an idle start at 0: in list order, each as soon as the out port of `from`
// and the in port of `to` are free (list scheduling; docs/metrics.md "migration_ns"). 0 for no copies.
Nanos migration_ns(std::span<const Copy> copies, int workers, const LayerCost& cost,
                   std::span<const WorkerTraits> traits = {});

// When the last of those ends that the target waits for: copies with work in `assignment` (sorted). The others are for
// later targets.
struct TileShare;
Nanos awaited_ns(std::span<const Copy> copies, std::span<const TileShare> assignment, int workers,
                 const LayerCost& cost, std::span<const WorkerTraits> traits = {});

}  // namespace afore
