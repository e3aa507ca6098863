#include "trace/aggregate.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "util/error.h"

namespace afore::trace {
namespace {

std::int64_t tokens_of(const std::vector<std::int64_t>& row, int top_k, const std::string& place) {
  const std::int64_t sum = std::accumulate(row.begin(), row.end(), std::int64_t{0});
  if (sum % top_k != 0)
    throw Error(ErrorKind::data, fmt::format("{}: {} assignments are not a multiple of top {}", place, sum, top_k),
                "is --top-k the model's?");
  const auto most = std::max_element(row.begin(), row.end());
  if (*most > sum / top_k)
    throw Error(
        ErrorKind::data,
        fmt::format("{}: expert {} has {} assignments of {} tokens", place, most - row.begin(), *most, sum / top_k),
        "a token chooses an expert at most once; is --top-k the model's?");
  return sum / top_k;
}

}  // namespace

Aggregate make_aggregate(const std::vector<std::vector<std::int64_t>>& rows, int top_k,
                         const std::string& source_name) {
  Aggregate result;
  for (std::size_t layer = 0; layer < rows.size(); ++layer) {
    const std::string place = fmt::format("{}: /logical_count/{}", source_name, layer);
    if (rows[layer].size() != rows[0].size())
      throw Error(ErrorKind::data,
                  fmt::format("{}: {} experts, but {} in layer 0", place, rows[layer].size(), rows[0].size()));
    if (std::all_of(rows[layer].begin(), rows[layer].end(), [](std::int64_t c) { return c == 0; })) {
      result.dense_layers.push_back(static_cast<int>(layer));
      continue;
    }
    result.tokens.push_back(tokens_of(rows[layer], top_k, place));
    result.moe_layers.push_back(static_cast<int>(layer));
    result.counts.push_back(rows[layer]);
  }
  if (result.counts.empty()) throw Error(ErrorKind::data, source_name + ": no layer has any assignment");
  return result;
}

}  // namespace afore::trace
