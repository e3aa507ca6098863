#include "nn/added_tokens.h"

#include <algorithm>
#include <utility>

namespace afore::nn {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens) : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const AddedToken& a, const AddedToken& b) { return a.content < b.content; });
  for (const AddedToken& token : tokens_) starts_[static_cast<unsigned char>(token.content.front())] = true;
}

// Narrows the tokens to those that agree with ever more bytes of the text. Sorted, they are one range, and one that
// ends there comes first.
const AddedToken* AddedTokens::find(std::string_view text) const {
  const AddedToken* longest = nullptr;
  auto first = tokens_.begin(), last = tokens_.end();
  for (std::size_t depth = 0; depth < text.size() && first != last; ++depth) {
    const auto byte_at = [depth](const AddedToken& token) { return static_cast<unsigned char>(token.content[depth]); };
    const auto byte = static_cast<unsigned char>(text[depth]);
    first = std::partition_point(first, last, [&](const AddedToken& token) { return byte_at(token) < byte; });
    last = std::partition_point(first, last, [&](const AddedToken& token) { return byte_at(token) == byte; });
    if (first != last && first->content.size() == depth + 1) longest = &*first++;
  }
  return longest;
}

}  // namespace afore::nn
