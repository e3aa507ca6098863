#pragma once
// TensorRT-LLM's expert load balancer (NVIDIA/TensorRT-LLM): its configuration (tensorrt_llm/llmapi/llm_args.py,
// MoeLoadBalancerConfig) and the statistics it records (tensorrt_llm/_torch/expert_statistic.py). Layers are absolute,
// and only MoE layers are named.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "wire/foreign/tables.h"

namespace afore::wire {

// num_slots, layer_updates_per_iter and initial_global_assignments, at the top, below load_balancer, or below
// moe_config.load_balancer of a whole configuration, whose other keys are not looked at. One entry of by_rank per row:
// the file does not say how many ranks share the slots. Rows are in the order of their layers, whatever the file's.
// Error{data} "SOURCE:LINE: /PATH: fact".
MapFile parse_trtllm_yaml(std::string_view text, const std::string& source);

struct LayerSlots {
  std::int64_t layer = 0;           // absolute
  std::vector<std::int64_t> slots;  // logical experts
};
// The keys at the top, a line per layer, as parse_trtllm_yaml reads and load_balancer takes the path of.
std::string to_trtllm_yaml(std::int64_t num_slots, std::int64_t layer_updates_per_iter,
                           std::span<const LayerSlots> layers);

struct IterationRange {
  std::int64_t first = 0, end = 0;  // [first, end)
};
struct NamedBytes {
  std::string name;  // rank0.safetensors
  std::vector<std::uint8_t> bytes;
};
// Counts of logical experts per iteration and layer, summed over the ranks' files, which hold the same iterations and
// layers. Error{data} "NAME: fact" where they do not, where a layer is absent in an iteration, or nothing is in range.
CountsFile read_trtllm_statistics(std::string_view meta_info, const std::string& meta_source,
                                  std::span<const NamedBytes> ranks, std::optional<IterationRange> range = {});

}  // namespace afore::wire
