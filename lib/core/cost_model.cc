#include "core/cost_model.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/assignment.h"
#include "util/error.h"
#include "util/scratch.h"

namespace afore {
namespace {

// So that sums of many stay far from the end of 64 bits. NaN and infinity are refused too.
constexpr double kMaxOperationNs = 1e15;
// Of one tile or one expert: what headers and cost files may say.
constexpr Nanos kMaxUnitNs = 1'000'000'000;

const char* const kCostHint = "check the rates of the cost file and the sizes of the model";

Nanos whole_ns(double ns) {
  if (!(ns < kMaxOperationNs))
    throw Error(ErrorKind::data, "the cost model gives an operation of over 11 days", kCostHint);
  return static_cast<Nanos>(std::floor(ns + 0.5));
}

Nanos unit_ns(double ns, const char* what) {
  const Nanos whole = whole_ns(ns);
  if (whole > kMaxUnitNs)
    throw Error(ErrorKind::data, std::string("the cost model gives ") + what + " of over a second", kCostHint);
  return std::max<Nanos>(1, whole);
}

// Peak rates, HBM and NVLink from public data sheets; 0.8 of HBM and the 10 us point-to-point latency are the
// empirical factors published with the measured tables cited in docs/metrics.md; 0.6 of the tensor-core peak is an
// assumption for small-M grouped GEMMs. Weights are read again over PCIe 4 or 5 from host memory, at 0.8 of its rate.
// Control latency, scheduler and sampling times are assumptions, named there.
const std::array<HardwareProfile, 4> kProfiles = {{
    {"a100", 312e12, 0.6, 2.039e12, 0.8, 300e9, 0.8, 10'000, 240e9, 10'000, 5'000, 5'000, 2'000, 10'000, 20'000,
     kAbsent, kAbsent, kAbsent, 25.6e9},
    {"h100", 989e12, 0.6, 3.35e12, 0.8, 450e9, 0.8, 10'000, 360e9, 10'000, 5'000, 5'000, 2'000, 10'000, 20'000, kAbsent,
     kAbsent, kAbsent, 51.2e9},
    {"h200", 989e12, 0.6, 4.8e12, 0.8, 450e9, 0.8, 10'000, 360e9, 10'000, 5'000, 5'000, 2'000, 10'000, 20'000, kAbsent,
     kAbsent, kAbsent, 51.2e9},
    // One core with AVX512-BF16 as the benchmarks of docs/performance.md found it, two bf16 products per weight;
    // "links" are pointers, and waking a thread takes some microseconds. An assumption until afore-serve calibrate has
    // measured.
    {"cpu", 200e9, 1, 20e9, 1, 1e15, 1, 0, 8e9, 2'000, 5'000, 20'000, 5'000, 10'000, 50'000, kAbsent, kAbsent, kAbsent,
     1e9},
}};

void require(std::int64_t value, const char* key) {
  if (value <= 0)
    throw Error(
        ErrorKind::usage, std::string("the model's ") + key + " is not known",
        "give --model PRESET to the tool that starts the stream, or a --cost file with ffn_c1_ns and ffn_c2_ns");
}

}  // namespace

const HardwareProfile* find_hardware_profile(const std::string& name) {
  for (const HardwareProfile& profile : kProfiles)
    if (profile.name == name) return &profile;
  return nullptr;
}

std::vector<std::string> hardware_profile_names() {
  std::vector<std::string> names;
  for (const HardwareProfile& profile : kProfiles) names.push_back(profile.name);
  return names;
}

namespace {

// As a cost file may say it.
Nanos slowed_ns(double ns) {
  const Nanos whole = whole_ns(ns);
  if (whole > kMaxUnitNs)
    throw Error(ErrorKind::data, "the slowed machine has a time of over a second", "a smaller factor");
  return whole;
}

}  // namespace

HardwareProfile slowed(HardwareProfile profile, double factor) {
  for (double* rate : {&profile.flops_per_s, &profile.memory_bytes_per_s, &profile.link_bytes_per_s,
                       &profile.copy_bytes_per_s, &profile.source_bytes_per_s})
    *rate /= factor;
  for (Nanos* time : {&profile.link_latency_ns, &profile.copy_latency_ns, &profile.ffn_c0_ns, &profile.attention_c0_ns,
                      &profile.control_latency_ns, &profile.scheduler_ns, &profile.sampling_ns, &profile.ffn_c1_ns,
                      &profile.ffn_c2_ns})
    if (*time != kAbsent) *time = slowed_ns(static_cast<double>(*time) * factor);
  for (double* time :
       {&profile.attention_token_ns, &profile.attention_kv_ns, &profile.step_token_ns, &profile.sampling_token_ns})
    if (*time >= 0) slowed_ns(*time *= factor);
  profile.measured.reset();
  return profile;
}

const char* to_string(LoadRule rule) { return rule == LoadRule::additive ? "additive" : "roofline"; }

Nanos ffn_ns(const LayerCost& cost, std::span<const WorkerTraits> traits, int worker, std::int64_t tiles,
             std::int64_t activated) {
  const Nanos load = cost.load_ns(tiles, activated);
  return cost.c0_ns + (traits.empty() ? load : ceil_div(load * traits[worker].slowdown_permille, 1000));
}

Nanos copy_ns(const LayerCost& cost, std::span<const WorkerTraits> traits, int from, int to) {
  if (traits.empty()) return cost.copy_ns;
  const std::int64_t permille = std::max(traits[from].copy_slowdown_permille, traits[to].copy_slowdown_permille);
  // copy_ns may be 10^15: its product with a slowdown would not fit 64 bits.
  return cost.copy_ns / 1000 * permille + ceil_div(cost.copy_ns % 1000 * permille, 1000);
}

bool has_draining(std::span<const WorkerTraits> traits) {
  return std::any_of(traits.begin(), traits.end(), [](const WorkerTraits& t) { return t.draining; });
}

LayerCost layer_cost(const HardwareProfile& profile, const ModelSpec& model, std::int64_t tile_tokens) {
  LayerCost cost;
  cost.c0_ns = profile.ffn_c0_ns;
  cost.tile_tokens = tile_tokens;
  cost.rule = profile.ffn_rule;
  if (profile.ffn_c1_ns != kAbsent) {
    cost.c1_ns = profile.ffn_c1_ns;
  } else {
    require(model.hidden, "hidden size");
    require(model.moe_intermediate, "moe_intermediate");
    // gate, up and down projections: 3 matrices, 2 operations per weight and token. Experts stored in one byte per
    // weight (FP8) run at twice the 16-bit rate.
    const double weights = 3.0 * static_cast<double>(model.hidden) * static_cast<double>(model.moe_intermediate);
    const bool one_byte = model.expert_bytes > 0 && static_cast<double>(model.expert_bytes) < 1.5 * weights;
    const double rate = profile.flops_per_s * profile.flops_efficiency * (one_byte ? 2 : 1);
    cost.c1_ns = unit_ns(static_cast<double>(tile_tokens) * 2.0 * weights / rate * 1e9, "a tile");
  }
  if (profile.ffn_c2_ns != kAbsent) {
    cost.c2_ns = profile.ffn_c2_ns;
  } else {
    require(model.expert_bytes, "expert_bytes");
    cost.c2_ns = unit_ns(
        static_cast<double>(model.expert_bytes) / (profile.memory_bytes_per_s * profile.memory_efficiency) * 1e9,
        "an activated expert");
  }
  cost.expert_bytes = std::max<std::int64_t>(0, model.expert_bytes);
  cost.copy_ns =
      profile.copy_latency_ns + whole_ns(static_cast<double>(cost.expert_bytes) / profile.copy_bytes_per_s * 1e9);
  return cost;
}

Nanos PipelineCost::attention_ns(std::int64_t tokens, std::int64_t kv_tokens, bool first_in_step) const {
  const double memory = attention_weight_ns + kv_ns_per_token * static_cast<double>(kv_tokens);
  const double arithmetic = attention_ns_per_token * static_cast<double>(tokens);
  const double step = first_in_step ? step_token_ns * static_cast<double>(tokens) : 0;
  return attention_c0_ns + whole_ns((additive ? memory + arithmetic : std::max(memory, arithmetic)) + step);
}

Nanos PipelineCost::sample_ns(std::int64_t sequences) const {
  return sampling_ns + whole_ns(sampling_token_ns * static_cast<double>(sequences));
}

Nanos PipelineCost::transfer_ns(double bytes) const { return link_latency_ns + whole_ns(link_ns_per_byte * bytes); }

Nanos reload_ns(const HardwareProfile& profile, const LayerCost& cost) {
  return profile.copy_latency_ns + whole_ns(static_cast<double>(cost.expert_bytes) / profile.source_bytes_per_s * 1e9);
}

namespace {

// Shapes without attention sizes: four square 16-bit projections, and an eighth of the hidden size for K and for V
// (eight query heads per KV head).
double attention_bytes_of(const ModelSpec& model) {
  const double hidden = static_cast<double>(model.hidden);
  return model.attention_bytes > 0 ? static_cast<double>(model.attention_bytes) : 8.0 * hidden * hidden;
}
double kv_bytes_of(const ModelSpec& model) {
  return model.kv_bytes_per_token > 0 ? static_cast<double>(model.kv_bytes_per_token)
                                      : static_cast<double>(model.hidden) / 2.0;
}

}  // namespace

std::int64_t kv_budget_tokens(const ModelSpec& model) {
  require(model.hidden, "hidden size");
  constexpr double kBytes = 64.0 * 1024 * 1024 * 1024;
  const auto layers = model.layers > 0 ? model.layers : static_cast<std::int64_t>(model.moe_layers.size());
  return static_cast<std::int64_t>(kBytes /
                                   (kv_bytes_of(model) * static_cast<double>(std::max<std::int64_t>(1, layers))));
}

PipelineCost pipeline_cost(const HardwareProfile& profile, const ModelSpec& model) {
  require(model.hidden, "hidden size");
  PipelineCost cost;
  const double memory_rate = profile.memory_bytes_per_s * profile.memory_efficiency;
  const double attention_bytes = attention_bytes_of(model);
  cost.attention_c0_ns = profile.attention_c0_ns;
  cost.attention_weight_ns = attention_bytes / memory_rate * 1e9;
  cost.kv_ns_per_token = kv_bytes_of(model) / memory_rate * 1e9;
  cost.attention_ns_per_token =
      attention_bytes / (profile.flops_per_s * profile.flops_efficiency) * 1e9;  // 2 flops per 2-byte weight
  cost.link_ns_per_byte = 1e9 / (profile.link_bytes_per_s * profile.link_efficiency);
  cost.link_latency_ns = profile.link_latency_ns;
  cost.activation_bytes = 2 * model.hidden;
  cost.control_latency_ns = profile.control_latency_ns;
  cost.scheduler_ns = profile.scheduler_ns;
  cost.sampling_ns = profile.sampling_ns;
  cost.step_token_ns = std::max(0.0, profile.step_token_ns);
  cost.sampling_token_ns = std::max(0.0, profile.sampling_token_ns);
  if (profile.attention_token_ns >= 0 && profile.attention_kv_ns >= 0) {
    cost.additive = true;
    cost.attention_weight_ns = 0;
    cost.attention_ns_per_token = profile.attention_token_ns;
    cost.kv_ns_per_token = profile.attention_kv_ns;
  }
  return cost;
}

Nanos awaited_ns(std::span<const Copy> copies, std::span<const TileShare> assignment, int workers,
                 const LayerCost& cost, std::span<const WorkerTraits> traits) {
  std::size_t awaited = copies.size();
  const auto before = [](const TileShare& a, const TileShare& b) {
    return a.expert != b.expert ? a.expert < b.expert : a.worker < b.worker;
  };
  while (awaited > 0 && !std::binary_search(assignment.begin(), assignment.end(),
                                            TileShare{copies[awaited - 1].expert, copies[awaited - 1].to, 0}, before))
    --awaited;
  return migration_ns(copies.first(awaited), workers, cost, traits);
}

Nanos migration_ns(std::span<const Copy> copies, int workers, const LayerCost& cost,
                   std::span<const WorkerTraits> traits) {
  if (copies.empty()) return 0;
  auto& out_free = scratch<std::vector<Nanos>, struct OutPorts>();
  auto& in_free = scratch<std::vector<Nanos>, struct InPorts>();
  out_free.assign(workers, 0);
  in_free.assign(workers, 0);
  Nanos last = 0;
  for (const Copy& copy : copies) {
    const Nanos end = std::max(out_free[copy.from], in_free[copy.to]) + copy_ns(cost, traits, copy.from, copy.to);
    out_free[copy.from] = in_free[copy.to] = end;
    last = std::max(last, end);
  }
  return last;
}

}  // namespace afore
