#include "nn/tokenizer.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "nn/mapped_file.h"
#include "nn/nfc.h"
#include "nn/tokenizer_file.h"
#include "nn/utf8.h"

namespace afore::nn {
namespace {

// Those that are looked for in the text as it is, or those that are looked for in what the others leave, normalized.
std::vector<AddedToken> added_tokens(const TokenizerFile& file, bool normalized) {
  std::vector<AddedToken> chosen;
  std::string composed;
  for (const AddedToken& token : file.added) {
    if (token.normalized != normalized) continue;
    chosen.push_back(token);
    if (normalized && file.nfc) chosen.back().content = to_nfc(token.content, composed);
  }
  return chosen;
}

}  // namespace

struct Tokenizer::Impl {
  Impl(TokenizerFile&& file, const std::string& source)
      : tokens(std::move(file.tokens)),
        special(tokens.size()),
        nfc(file.nfc),
        exact(added_tokens(file, false)),
        normalized(added_tokens(file, true)),
        splitter(file.splits, source),
        bpe(file.byte_ids, file.merges) {
    for (const AddedToken& token : file.added) special[static_cast<std::size_t>(token.id)] = token.special;
    for (const int id : file.pieces) pieces.emplace(tokens[static_cast<std::size_t>(id)], id);
  }

  struct Encoding {
    explicit Encoding(std::size_t text_bytes) : split(text_bytes) {}
    std::vector<int> ids;
    std::string composed;
    Splitter::Scratch split;
    Bpe::Scratch merge;
  };

  void encode_piece(std::string_view piece, Encoding& to) const {
    const auto whole = pieces.empty() ? pieces.end() : pieces.find(piece);
    if (whole != pieces.end()) to.ids.push_back(whole->second);
    else bpe.encode(piece, to.ids, to.merge);
  }

  // Text without added tokens that are looked for in the text as it is.
  void encode_section(std::string_view text, Encoding& to) const {
    while (!text.empty()) {
      const std::size_t good = utf8_prefix(text);
      const std::string_view whole = text.substr(0, good);
      normalized.split(
          nfc ? to_nfc(whole, to.composed) : whole,
          [&](std::string_view section) {
            splitter.split(section, to.split, [&](std::string_view piece) { encode_piece(piece, to); });
          },
          [&](int id) { to.ids.push_back(id); });
      text.remove_prefix(good);
      if (text.empty()) break;
      const std::size_t bad = scan_code_point(text).bytes;
      for (const char byte : text.substr(0, bad)) to.ids.push_back(bpe.byte_id(static_cast<unsigned char>(byte)));
      text.remove_prefix(bad);
    }
  }

  // The bytes of a token in decoded text: none for special ones and for ids that are none's.
  std::string_view bytes_of(int id) const {
    if (id < 0 || static_cast<std::size_t>(id) >= tokens.size() || special[static_cast<std::size_t>(id)]) return {};
    return tokens[static_cast<std::size_t>(id)];
  }

  std::vector<std::string> tokens;  // by id: bytes
  std::vector<bool> special;
  std::unordered_map<std::string_view, int> pieces;  // views into `tokens`
  bool nfc;
  AddedTokens exact, normalized;
  Splitter splitter;
  Bpe bpe;
};

Tokenizer::Tokenizer(const std::filesystem::path& folder) {
  const MappedFile file(folder / "tokenizer.json");
  impl_ = std::make_unique<Impl>(read_tokenizer_file(file.text(), file.name()), file.name());
}

Tokenizer::Tokenizer(std::string_view json, const std::string& source_name)
    : impl_(std::make_unique<Impl>(read_tokenizer_file(json, source_name), source_name)) {}

Tokenizer::~Tokenizer() = default;
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;

std::vector<int> Tokenizer::encode(std::string_view text) const {
  Impl::Encoding to(text.size());
  impl_->exact.split(
      text, [&](std::string_view section) { impl_->encode_section(section, to); },
      [&](int id) { to.ids.push_back(id); });
  return std::move(to.ids);
}

std::string Tokenizer::decode(std::span<const int> ids) const {
  std::string bytes, text;
  for (const int id : ids) bytes += impl_->bytes_of(id);
  take_text(bytes, true, text);
  return text;
}

int Tokenizer::size() const { return static_cast<int>(impl_->tokens.size()); }

std::string TokenStream::push(int id) {
  held_ += tokenizer_->impl_->bytes_of(id);
  std::string text;
  take_text(held_, false, text);
  return text;
}

std::string TokenStream::finish() {
  std::string text;
  take_text(held_, true, text);
  return text;
}

}  // namespace afore::nn
