#include "nn/nfc.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "nn/nfc_table.h"

namespace afore::nn {
namespace {

using Code = std::uint32_t;

// The Unicode Standard, 3.12: syllables are leading + vowel [+ trailing].
constexpr Code kSyllables = 0xAC00, kLeading = 0x1100, kVowels = 0x1161, kTrailing = 0x11A7;
constexpr Code kLeadingCount = 19, kVowelCount = 21, kTrailingCount = 28;
constexpr Code kSyllableCount = kLeadingCount * kVowelCount * kTrailingCount;

bool is_syllable(Code code) { return code - kSyllables < kSyllableCount; }
bool is_leading(Code code) { return code - kLeading < kLeadingCount; }
bool is_vowel(Code code) { return code - kVowels < kVowelCount; }
bool is_trailing(Code code) { return code - kTrailing - 1 < kTrailingCount - 1; }

std::uint64_t pair_of(Code first, Code second) { return std::uint64_t{first} << 32 | second; }

struct Decomposition {
  Code first = 0, second = 0;  // second 0: a single character
};

// The tables by what is asked of them.
struct Tables {
  std::unordered_map<Code, Decomposition> decompositions;
  std::unordered_map<std::uint64_t, Code> compositions;
  std::unordered_map<Code, std::uint8_t> classes;
  std::vector<bool> may_change;  // by character up to the last that may: whether composed text may not have it as it is

  Tables() {
    for (std::size_t i = 0; i < kNfcSingletons.size(); i += 2)
      add(kNfcSingletons[i], {kNfcSingletons[i + 1], 0}), mark(kNfcSingletons[i]);
    for (std::size_t i = 0; i < kNfcExcluded.size(); i += 3)
      add(kNfcExcluded[i], {kNfcExcluded[i + 1], kNfcExcluded[i + 2]}), mark(kNfcExcluded[i]);
    for (std::size_t i = 0; i < kNfcPairs.size(); i += 3) {
      add(kNfcPairs[i], {kNfcPairs[i + 1], kNfcPairs[i + 2]});
      compositions.emplace(pair_of(kNfcPairs[i + 1], kNfcPairs[i + 2]), kNfcPairs[i]);
      mark(kNfcPairs[i + 2]);  // what may be before it would take it in
    }
    for (std::size_t i = 0; i < kNfcClasses.size(); i += 3)
      for (Code code = kNfcClasses[i]; code <= kNfcClasses[i + 1]; ++code) {
        classes.emplace(code, static_cast<std::uint8_t>(kNfcClasses[i + 2]));
        mark(code);  // may stand in another order
      }
    for (Code code = kVowels; code < kTrailing + kTrailingCount; ++code) mark(code);
  }

  void add(Code code, Decomposition parts) { decompositions.emplace(code, parts); }
  void mark(Code code) {
    if (may_change.size() <= code) may_change.resize(code + 1);
    may_change[code] = true;
  }

  int class_of(Code code) const {
    const auto found = classes.find(code);
    return found == classes.end() ? 0 : found->second;
  }
};

const Tables& tables() {
  static const Tables all;
  return all;
}

// The character at `at` of UTF-8, which moves on.
Code next_code(std::string_view text, std::size_t& at) {
  const auto lead = static_cast<unsigned char>(text[at++]);
  if (lead < 0x80) return lead;
  const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
  Code code = lead & (0x3Fu >> more);
  for (int i = 0; i < more; ++i) code = code << 6 | (static_cast<unsigned char>(text[at++]) & 0x3F);
  return code;
}

void append_code(Code code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code);
    return;
  }
  const int more = code >= 0x10000 ? 3 : code >= 0x800 ? 2 : 1;
  out += static_cast<char>((0xFF00u >> (more + 1) & 0xFF) | code >> 6 * more);
  for (int i = more - 1; i >= 0; --i) out += static_cast<char>(0x80 | (code >> 6 * i & 0x3F));
}

bool may_change(std::string_view text) {
  // Nothing below U+0300, whose first byte is CC, changes; most text ends here.
  const auto high = [](char byte) { return static_cast<unsigned char>(byte) >= 0xCC; };
  const Tables& all = tables();
  for (std::size_t at = 0; at < text.size();) {
    if (!high(text[at])) {
      ++at;
      continue;
    }
    const Code code = next_code(text, at);
    if (code < all.may_change.size() && all.may_change[code]) return true;
  }
  return false;
}

void decompose(Code code, std::vector<Code>& out) {
  if (is_syllable(code)) {
    const Code place = code - kSyllables, trailing = place % kTrailingCount;
    out.push_back(kLeading + place / (kVowelCount * kTrailingCount));
    out.push_back(kVowels + place / kTrailingCount % kVowelCount);
    if (trailing != 0) out.push_back(kTrailing + trailing);
    return;
  }
  const auto found = tables().decompositions.find(code);
  if (found == tables().decompositions.end()) return out.push_back(code);
  decompose(found->second.first, out);
  if (found->second.second != 0) decompose(found->second.second, out);
}

// Marks behind a character that is none, by class; those of one class keep their order.
void order_marks(std::vector<Code>& codes) {
  const auto class_of = [](Code code) { return tables().class_of(code); };
  for (auto first = codes.begin(); first != codes.end();) {
    first = std::find_if(first, codes.end(), [&](Code code) { return class_of(code) != 0; });
    const auto last = std::find_if(first, codes.end(), [&](Code code) { return class_of(code) == 0; });
    std::stable_sort(first, last, [&](Code a, Code b) { return class_of(a) < class_of(b); });
    first = last;
  }
}

Code composed(Code first, Code second) {  // 0: they do not compose
  if (is_leading(first) && is_vowel(second))
    return kSyllables + ((first - kLeading) * kVowelCount + (second - kVowels)) * kTrailingCount;
  if (is_syllable(first) && (first - kSyllables) % kTrailingCount == 0 && is_trailing(second))
    return first + (second - kTrailing);
  const auto found = tables().compositions.find(pair_of(first, second));
  return found == tables().compositions.end() ? 0 : found->second;
}

// Each character into the last starter, unless one between them blocks it: another starter, or a mark of no lower
// class.
void compose(std::vector<Code>& codes) {
  constexpr std::size_t kNone = SIZE_MAX;
  std::size_t starter = kNone, kept = 0;
  int last_class = 0;  // of what was kept behind the starter; 0 = nothing was
  for (std::size_t i = 0; i < codes.size(); ++i) {
    const Code code = codes[i];
    const int combining = tables().class_of(code);
    const bool blocked = kept != starter + 1 && (last_class == 0 || last_class >= combining);
    if (starter != kNone && !blocked) {
      if (const Code whole = composed(codes[starter], code); whole != 0) {
        codes[starter] = whole;
        continue;
      }
    }
    if (combining == 0) starter = kept;
    last_class = combining;
    codes[kept++] = code;
  }
  codes.resize(kept);
}

}  // namespace

std::string_view to_nfc(std::string_view text, std::string& buffer) {
  if (!may_change(text)) return text;
  std::vector<Code> codes;
  codes.reserve(text.size());
  for (std::size_t at = 0; at < text.size();) decompose(next_code(text, at), codes);
  order_marks(codes);
  compose(codes);
  buffer.clear();
  for (const Code code : codes) append_code(code, buffer);
  return buffer;
}

}  // namespace afore::nn
