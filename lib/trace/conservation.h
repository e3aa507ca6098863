#pragma once
// A gate chooses top_k experts per token: what counts must satisfy to be of whole tokens.
#include <cstdint>
#include <span>
#include <string>

namespace afore::trace {

struct TokenCount {
  std::int64_t tokens = 0;
  std::int64_t dropped = 0;  // assignments that the recorder lost: tokens * top_k - sum
};

// Counts of one layer and step. Error{data} beginning with `place`: a sum that top_k does not divide, or beyond 2^53,
// an expert chosen by more tokens than there are. With `allow_drop` tokens are as few as explain the counts.
TokenCount tokens_of(std::span<const std::int64_t> counts, std::int64_t top_k, bool allow_drop,
                     const std::string& place);

}  // namespace afore::trace
