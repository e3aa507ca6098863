#include "wire/demand_line.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace afore::wire {
namespace {

constexpr int kMaxDigits = 15;  // below 2^53, so no range but the schema's needs a check

enum Field : unsigned { kKind, kStep, kLayer, kMicrobatch, kPhase, kTokens, kCounts, kDropped, kFields };
constexpr std::string_view kKeys[kFields] = {"\"kind\"",  "\"step\"",   "\"layer\"",  "\"microbatch\"",
                                             "\"phase\"", "\"tokens\"", "\"counts\"", "\"dropped\""};
constexpr unsigned kRequired = (1u << kDropped) - 1;

// A place in a text whose last byte is '}': scans of blanks and of digits stop there at the latest. Each member says
// whether what it is named after stands at the place, and moves behind it; where not, behind blanks at most.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : at_(text.data()), end_(text.data() + text.size()) {}

  bool at_end() const { return at_ == end_; }

  void blanks() {
    while (*at_ == ' ' || *at_ == '\t' || *at_ == '\r' || *at_ == '\n') ++at_;
  }
  bool byte(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool word(std::string_view expected) {
    if (static_cast<std::size_t>(end_ - at_) < expected.size()) return false;
    if (std::memcmp(at_, expected.data(), expected.size()) != 0) return false;
    at_ += expected.size();
    return true;
  }
  bool mark(char c) {  // with blanks on both sides
    blanks();
    if (!byte(c)) return false;
    if (at_ != end_) blanks();
    return true;
  }
  bool integer(std::int64_t& value) { return short_integer(value) || long_integer(value); }

 private:
  // Up to seven digits at once, eight bytes at a time: the digits are moved to the top of the word, so that zeros stand
  // before them, then neighbours are joined to pairs, pairs to fours, fours to the whole.
  bool short_integer(std::int64_t& value) {
    if constexpr (std::endian::native != std::endian::little) return false;
    if (end_ - at_ < 8) return false;
    std::uint64_t word;
    std::memcpy(&word, at_, 8);
    word ^= 0x3030303030303030u;
    // The top bit of the first byte that is not in 0..9; bytes behind it may be marked wrongly.
    const std::uint64_t marks = (word | (word + 0x7676767676767676u)) & 0x8080808080808080u;
    const int digits = std::countr_zero(marks) / 8;
    if (digits == 0 || digits == 8 || (digits > 1 && *at_ == '0')) return false;
    word <<= 64 - 8 * digits;
    word = (word * 10 + (word >> 8)) & 0x00FF00FF00FF00FFu;
    word = (word * 100 + (word >> 16)) & 0x0000FFFF0000FFFFu;
    word = (word * 10000 + (word >> 32)) & 0xFFFFFFFFu;
    value = static_cast<std::int64_t>(word);
    at_ += digits;
    return true;
  }

  bool long_integer(std::int64_t& value) {
    const char* end = at_;
    value = 0;
    while (*end >= '0' && *end <= '9' && end - at_ <= kMaxDigits) value = 10 * value + (*end++ - '0');
    const auto digits = end - at_;
    if (digits == 0 || digits > kMaxDigits || (digits > 1 && *at_ == '0')) return false;
    at_ = end;
    return true;
  }

  const char *at_, *end_;
};

bool read_key(Cursor& in, unsigned& field) {
  for (unsigned tried = 0; tried < kFields; ++tried, field = field + 1 == kFields ? 0 : field + 1)
    if (in.word(kKeys[field])) return in.mark(':');
  return false;
}

bool read_phase(Cursor& in, Phase& phase) {
  if (!in.byte('"')) return false;
  for (const Phase known : {Phase::decode, Phase::prefill, Phase::mixed, Phase::warmup}) {
    if (!in.word(to_string(known))) continue;
    phase = known;
    return in.byte('"');
  }
  return false;
}

// Fills `counts`, whose size is the number of experts.
bool read_counts(Cursor& in, std::vector<std::int64_t>& counts, std::int64_t& sum) {
  if (!in.mark('[')) return false;
  sum = 0;
  for (std::size_t e = 0; e < counts.size(); ++e) {
    if (e > 0 && !in.byte(',') && !in.mark(',')) return false;
    if (!in.integer(counts[e])) {
      in.blanks();
      if (!in.integer(counts[e])) return false;
    }
    sum += counts[e];  // both at most 2^53
    if (sum > kMaxInteger) return false;
  }
  in.blanks();
  return in.byte(']');
}

bool knows_layer(const DecodeContext& context, std::int64_t layer) {
  if (!context.header) return layer < kMaxIndex;
  const ModelSpec& model = context.header->model;
  if (layer >= (model.layers == kAbsent ? kMaxIndex : model.layers)) return false;
  return model.moe_layers.empty() || std::binary_search(model.moe_layers.begin(), model.moe_layers.end(), layer);
}

// The rules of decode_demand() about sums.
bool is_conserved(const DecodeContext& context, std::int64_t sum, bool says_dropped, Demand& demand) {
  const std::optional<std::int64_t> top_k = context.top_k();
  if (!top_k) return true;
  std::int64_t expected = 0;
  if (__builtin_mul_overflow(demand.tokens, *top_k, &expected)) return false;
  if (!context.options->allow_drop) return sum == expected && demand.dropped == 0;
  if (!says_dropped) demand.dropped = expected - sum;
  return demand.dropped >= 0 && sum + demand.dropped == expected;
}

}  // namespace

bool read_demand_line(std::string_view line, const DecodeContext& context, Demand& demand) {
  const std::size_t last = line.find_last_not_of(" \t\r\n");
  if (last == std::string_view::npos || line[last] != '}') return false;
  const std::int64_t experts = context.experts();
  // A count takes two bytes: no line makes this reserve more than a multiple of its size.
  if (experts == kMaxIndex || experts > static_cast<std::int64_t>(line.size() / 2)) return false;
  Cursor in(line.substr(0, last + 1));
  demand.counts.resize(static_cast<std::size_t>(experts));
  demand.dropped = 0;
  std::int64_t layer = 0, microbatch = 0, sum = 0;
  unsigned seen = 0, field = kKind;
  if (!in.mark('{')) return false;
  for (;;) {
    if (!read_key(in, field) || (seen >> field & 1u) != 0) return false;
    seen |= 1u << field;
    bool good = false;
    switch (static_cast<Field>(field)) {
      case kKind: good = in.word("\"demand\""); break;
      case kStep: good = in.integer(demand.target.step); break;
      case kLayer: good = in.integer(layer); break;
      case kMicrobatch: good = in.integer(microbatch); break;
      case kPhase: good = read_phase(in, demand.phase); break;
      case kTokens: good = in.integer(demand.tokens); break;
      case kCounts: good = read_counts(in, demand.counts, sum); break;
      case kDropped: good = in.integer(demand.dropped); break;
      case kFields: break;
    }
    if (!good) return false;
    if (in.mark('}')) break;
    if (!in.mark(',')) return false;
    field = field + 1 == kFields ? 0 : field + 1;
  }
  if (!in.at_end() || (seen & kRequired) != kRequired) return false;
  if (!knows_layer(context, layer) || microbatch >= kMaxIndex) return false;
  demand.target.layer = static_cast<int>(layer);
  demand.target.microbatch = static_cast<int>(microbatch);
  return is_conserved(context, sum, (seen >> kDropped & 1u) != 0, demand);
}

}  // namespace afore::wire
