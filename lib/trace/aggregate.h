#pragma once
// Expert counts summed over a whole run, as balancers record them: dense layers out, the rest checked.
#include <cstdint>
#include <string>
#include <vector>

namespace afore::trace {

struct Aggregate {
  std::vector<int> moe_layers;                    // absolute index of each kept row
  std::vector<int> dense_layers;                  // rows that were all 0
  std::vector<std::vector<std::int64_t>> counts;  // by kept row
  std::vector<std::int64_t> tokens;               // by kept row: sum / top_k
};

// rows[layer][expert]. Error{data} naming source and layer: a sum that top_k does not divide, a row of another length,
// an expert chosen by more tokens than there are, nothing but dense rows.
Aggregate make_aggregate(const std::vector<std::vector<std::int64_t>>& rows, int top_k, const std::string& source_name);

}  // namespace afore::trace
