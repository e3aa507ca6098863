#include "request_stat.h"

#include <fmt/core.h>

#include "util/stats.h"

namespace afore::cli {
namespace {

struct Lengths {
  double mean = 0;
  std::int64_t median = 0, p99 = 0;
};

Lengths lengths(std::vector<std::int64_t> values) {
  Lengths l;
  if (values.empty()) return l;
  double sum = 0;
  for (const std::int64_t value : values) sum += static_cast<double>(value);
  l.mean = sum / static_cast<double>(values.size());
  l.median = *quantile(values, 0.5);
  l.p99 = *quantile(values, 0.99);
  return l;
}

std::string text_of(const char* name, const std::vector<std::int64_t>& values) {
  const Lengths l = lengths(values);
  return fmt::format("{} tokens mean {:.1f}, median {}, p99 {}", name, l.mean, l.median, l.p99);
}

JsonObject json_of(const std::vector<std::int64_t>& values) {
  const Lengths l = lengths(values);
  return JsonObject().add("mean", l.mean).add("median", l.median).add("p99", l.p99);
}

}  // namespace

void RequestStatistics::add(const RequestRecord& request) {
  if (prompt_tokens_.empty()) first_ns_ = request.arrival_ns;
  last_ns_ = request.arrival_ns;
  prompt_tokens_.push_back(request.prompt_tokens);
  output_tokens_.push_back(request.output_tokens);
}

void RequestStatistics::add(const SequenceRecord& sequence, const ModelSpec& model, trace::Statistics& statistics) {
  const auto layers = model.moe_layers.size(), top_k = static_cast<std::size_t>(model.top_k);
  std::vector<std::int64_t> counts;
  for (std::size_t layer = 0; layer < layers; ++layer) {
    counts.assign(static_cast<std::size_t>(model.experts), 0);
    for (std::int64_t row = 0; row < sequence.tokens; ++row) {
      const std::uint8_t* experts = sequence.experts.data() + (static_cast<std::size_t>(row) * layers + layer) * top_k;
      for (std::size_t k = 0; k < top_k; ++k) ++counts[experts[k]];
    }
    statistics.add({sequences_, model.moe_layers[layer], 0}, sequence.tokens, counts);
  }
  sequences_ += 1;
  rows_ += sequence.tokens;
}

std::string RequestStatistics::text() const {
  std::string text = fmt::format("{} requests", prompt_tokens_.size());
  if (seconds() > 0)
    text += fmt::format(" in {:.1f} s, {:.2f} per second", seconds(),
                        static_cast<double>(prompt_tokens_.size() - 1) / seconds());
  if (!prompt_tokens_.empty())
    text += "; " + text_of("prompt", prompt_tokens_) + "; " + text_of("output", output_tokens_);
  if (sequences_ > 0)
    text += fmt::format("; the targets above are their {} recorded sequences, {} tokens", sequences_, rows_);
  return text + "\n";
}

JsonObject RequestStatistics::json() const {
  JsonObject object;
  object.add("requests", prompt_tokens_.size()).add("seconds", seconds());
  object.add_raw("prompt_tokens", json_of(prompt_tokens_).text());
  object.add_raw("output_tokens", json_of(output_tokens_).text());
  return object.add("sequences", sequences_).add("sequence_tokens", rows_);
}

}  // namespace afore::cli
