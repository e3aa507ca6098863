#pragma once
// Tables as .npy files: what a user saves of vLLM's EPLB state (vllm-project/vllm, vllm/distributed/eplb: expert_load
// (window, L, P) or (L, P), physical_to_logical_map (L, P)) or gives to EPLB as weights (L, E). Such a file says
// nothing but numbers: the caller says which layers the rows are and whose ids the cells have.
#include <cstdint>
#include <span>
#include <string>

#include "wire/foreign/tables.h"

namespace afore::wire {

// (rows, cells): one step; (steps, rows, cells). Error{data} "SOURCE: fact" for other shapes, empty ones and counts
// that are negative, fractions or beyond 2^53.
CountsFile counts_from_npy(std::span<const std::uint8_t> bytes, const std::string& source, LayerAxis axis,
                           ExpertIds ids);

// (rows, slots) of logical experts; one entry of by_rank per row.
MapFile map_from_npy(std::span<const std::uint8_t> bytes, const std::string& source, LayerAxis axis);

}  // namespace afore::wire
