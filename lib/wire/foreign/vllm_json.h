#pragma once
// vLLM in JSON: the offline EPLB map of HYGON's plugin (github.com/HYGON-AI/inference-cookbook-das,
// docs/optimization/static-eplb-vllm.md; version 1 has one model, version 2 a "model_maps" object by model key), and
// windows of physical loads, for which no release of vLLM defines a file: the arrays of its EPLB state under their own
// names. Rows are MoE layers only.
#include <optional>
#include <string>
#include <string_view>

#include "wire/foreign/tables.h"

namespace afore::wire {

// `model_key` picks one of several models of a version 2 file; with one of them it may be empty. Error{data} for what
// is no such file; Error{usage} listing the keys when one has to be picked.
MapFile parse_vllm_map(std::string_view text, const std::string& source, const std::string& model_key);

// {"expert_load_window": [window][layers][physical]} or {"expert_load_pass": [layers][physical]}, or the array alone;
// "physical_to_logical_map" beside it is the map in force.
CountsFile parse_vllm_window(std::string_view text, const std::string& source);

struct VllmMap {
  std::string model_name, model_class;
  std::int64_t experts = 0;
  std::vector<std::vector<int>> rows;  // [MoE layers][slots]
};
// version 1 or 2.
std::string to_vllm_json(const VllmMap& map, int version);

}  // namespace afore::wire
