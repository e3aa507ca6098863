#pragma once
// Tokens that are looked for in the text before anything else: where several fit, the leftmost, and of those the
// longest (tokenizers, tokenizer/added_vocabulary.rs).
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace afore::nn {

struct AddedToken {
  std::string content;  // not empty
  int id = 0;
  bool special = false;     // left out of decoded text
  bool normalized = false;  // looked for only in what the others leave
};

class AddedTokens {
 public:
  explicit AddedTokens(std::vector<AddedToken> tokens);

  // Calls section(text between tokens) and token(id), in the order of the text.
  template <class Section, class Token>
  void split(std::string_view text, Section&& section, Token&& token) const {
    std::size_t done = 0;
    for (std::size_t at = 0; at < text.size();) {
      const AddedToken* found = starts_[static_cast<unsigned char>(text[at])] ? find(text.substr(at)) : nullptr;
      if (found == nullptr) {
        ++at;
        continue;
      }
      if (at > done) section(text.substr(done, at - done));
      token(found->id);
      done = at += found->content.size();
    }
    if (done < text.size()) section(text.substr(done));
  }

 private:
  const AddedToken* find(std::string_view text) const;  // the longest at its beginning

  std::vector<AddedToken> tokens_;  // by content
  std::array<bool, 256> starts_{};  // bytes that one begins with
};

}  // namespace afore::nn
