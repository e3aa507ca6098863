#pragma once
// Expert counts as CSV with the header layer_id,expert_id,count: what SGLang's recorder wrote until 2025-04, one file
// per rank (expert_distribution_rank{r}_timestamp{t}.csv), each with its own tokens only. Rows are hidden layers.
#include <string>
#include <utility>
#include <vector>

#include "wire/foreign/tables.h"

namespace afore::wire {

// The files of all ranks, summed. A pair (layer, expert) stands once per file; absent ones count 0, so that the number
// of experts is one more than the largest id of any file. Error{data}.
CountsFile parse_counts_csv(std::vector<std::pair<std::string, std::vector<std::uint8_t>>> files);

}  // namespace afore::wire
