#pragma once
// Byte-level BPE from a tokenizer.json: added tokens, Split by a regular expression and/or the ByteLevel pre-tokenizer,
// merges by rank. Anything else in the file that would change the result (normalizers but NFC, byte fallback,
// dropout, post-processors that add tokens, other models) is refused by name.
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace afore::nn {

class Tokenizer {
 public:
  // FOLDER/tokenizer.json. Error{io}, Error{data}.
  explicit Tokenizer(const std::filesystem::path& folder);
  // From the file's text; `source_name` is for messages.
  Tokenizer(std::string_view json, const std::string& source_name);
  ~Tokenizer();
  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;

  // Added tokens that occur in the text are taken as such. Text that is not UTF-8 is encoded byte by byte where it
  // breaks. Thread-safe.
  std::vector<int> encode(std::string_view text) const;
  // Special tokens are left out. Ids outside the vocabulary are left out too. Bytes that are not UTF-8 become U+FFFD.
  std::string decode(std::span<const int> ids) const;

  int size() const;  // one more than the largest id

 private:
  friend class TokenStream;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Text of a growing sequence: what push() and finish() return, joined, is decode() of all ids. A code point is held
// back until it is whole.
class TokenStream {
 public:
  explicit TokenStream(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}
  std::string push(int id);
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  std::string held_;  // an unfinished code point's bytes
};

}  // namespace afore::nn
