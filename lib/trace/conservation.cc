#include "trace/conservation.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "util/error.h"

namespace afore::trace {

TokenCount tokens_of(std::span<const std::int64_t> counts, std::int64_t top_k, bool allow_drop,
                     const std::string& place) {
  const std::int64_t sum = std::accumulate(counts.begin(), counts.end(), std::int64_t{0});
  const auto most = std::max_element(counts.begin(), counts.end());
  if (allow_drop) {
    const std::int64_t tokens = std::max((sum + top_k - 1) / top_k, *most);
    return {tokens, tokens * top_k - sum};
  }
  if (sum % top_k != 0)
    throw Error(ErrorKind::data, fmt::format("{}: {} assignments are not a multiple of top {}", place, sum, top_k),
                "is --top-k the model's? a recorder that loses tokens needs --allow-drop");
  if (*most > sum / top_k)
    throw Error(
        ErrorKind::data,
        fmt::format("{}: expert {} has {} assignments of {} tokens", place, most - counts.begin(), *most, sum / top_k),
        "a token chooses an expert at most once; is --top-k the model's?");
  return {sum / top_k, 0};
}

}  // namespace afore::trace
