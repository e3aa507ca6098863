#pragma once
// What SGLang reads and writes with torch.save (sgl-project/sglang, python/sglang/srt/eplb): the expert location of
// --init-expert-location (expert_location.py) and the dumps of its expert distribution recorder
// (expert_distribution.py; _StatAccumulator, _DetailAccumulator, _DetailSinglePassGatherer). Rows are all hidden
// layers.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "wire/foreign/tables.h"
#include "wire/foreign/torch_file.h"

namespace afore::wire {

// By the keys of the dict:
//   physical_to_logical_map [L, P]                      the map of --init-expert-location
//   logical_count [L, E] or [steps, L, E]               counts of logical experts, also of a stat or stat_approx dump,
//                                                       whose steps are those still buffered, of all ranks together
//   records, last_physical_to_logical_map [L, P]        a per_pass or per_token dump of one rank; a per_token dump has
//     forward_pass_id, rank, gatherer_key,              topk_ids_of_layer [L, tokens, k], padded with -1, of PHYSICAL
//     global_physical_count [L, P]                      slots: SGLang notes them behind the choice of a replica
// Error{data} "SOURCE: PATH: fact".
using SglangTorchFile = std::variant<MapFile, CountsFile, RoutingFile>;
SglangTorchFile parse_sglang_torch(std::vector<std::uint8_t> bytes, const std::string& source);
SglangTorchFile read_sglang(TorchFile& file);  // the same of an open file

// The dumps of several ranks of one run, each of its own tokens, as one: counts summed by forward pass, or the tokens
// of a pass joined in the order of the parts. `names` are the parts' names in messages. Error{data} where a pass is
// absent from a part, a rank is there twice, or shapes or maps differ.
CountsFile sum_ranks(std::vector<CountsFile> parts, const std::vector<std::string>& names);
RoutingFile join_ranks(std::vector<RoutingFile> parts, const std::vector<std::string>& names);

}  // namespace afore::wire
