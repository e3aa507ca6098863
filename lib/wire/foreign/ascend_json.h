#pragma once
// vllm-ascend's expert map (vllm_ascend/eplb/core/eplb_utils.py): by layer and device the experts of its slots.
// layer_id counts MoE layers. The loader keeps one slot per expert and device, so an expert may not stand twice on a
// device.
#include <string>
#include <string_view>
#include <vector>

#include "wire/foreign/tables.h"

namespace afore::wire {

MapFile parse_ascend_map(std::string_view text, const std::string& source);

// rows: [MoE layers][devices * slots], device-major.
std::string to_ascend_json(const std::vector<std::vector<int>>& rows, int devices);

}  // namespace afore::wire
