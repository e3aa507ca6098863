#include "wire/openai/options.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>

#include "wire/openai/body.h"
#include "wire/sampling_values.h"
#include "wire/wire.h"

namespace afore::wire::openai {
namespace {

constexpr double kMaxTemperature = 2;

bool is_integer(JsonValue value, std::int64_t wanted) {
  return value.type() == JsonType::integer &&
         value.integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()) == wanted;
}

bool is_number(JsonValue value, double wanted) {
  return (value.type() == JsonType::integer || value.type() == JsonType::real) && value.number() == wanted;
}

bool is_one(JsonValue value) { return is_integer(value, 1); }
bool is_zero(JsonValue value) { return is_number(value, 0); }
bool is_false(JsonValue value) { return value.type() == JsonType::boolean && !value.boolean(); }
bool is_false_or_zero(JsonValue value) { return is_false(value) || is_integer(value, 0); }
bool is_no_top_k(JsonValue value) { return is_integer(value, 0) || is_integer(value, -1); }
bool is_empty_array(JsonValue value) { return value.type() == JsonType::array && value.size() == 0; }
bool is_empty_object(JsonValue value) { return value.type() == JsonType::object && value.size() == 0; }
bool is_empty_string(JsonValue value) { return value.type() == JsonType::string && value.string().empty(); }

bool is_text_format(JsonValue value) {
  if (value.type() != JsonType::object) return false;
  const JsonValue type = ObjectReader(value).find("type");
  return type && type.type() == JsonType::string && type.string() == "text";
}

struct Refusal {
  std::string_view key;
  bool (*changes_nothing)(JsonValue);
  const char* fact;
};

constexpr Refusal kRefusals[] = {
    {"n", is_one, "not supported: a request has one choice, n is 1"},
    {"best_of", is_one, "not supported: a request has one choice, best_of is 1"},
    {"echo", is_false, "not supported: the prompt is not part of the answer, echo is false"},
    {"suffix", is_empty_string, "not supported: nothing is inserted before a suffix"},
    {"logprobs", is_false_or_zero, "not supported: log probabilities are not told"},
    {"top_logprobs", is_false_or_zero, "not supported: log probabilities are not told"},
    {"prompt_logprobs", is_false_or_zero, "not supported: log probabilities are not told"},
    {"presence_penalty", is_zero, "not supported: the penalty is 0"},
    {"frequency_penalty", is_zero, "not supported: the penalty is 0"},
    {"top_k", is_no_top_k, "not supported: top_k is 0 or -1, which keep all tokens"},
    {"min_p", is_zero, "not supported: min_p is 0"},
    {"logit_bias", is_empty_object, "not supported: logit_bias is empty"},
    {"use_beam_search", is_false, "not supported: tokens are sampled, there is no beam search"},
    {"response_format", is_text_format, R"(not supported: the answer is text, the format is {"type":"text"})"},
    {"tools", is_empty_array, "not supported: the model calls no tools"},
    {"functions", is_empty_array, "not supported: the model calls no functions"},
};

std::int64_t token_count(JsonValue value, const char* noun) { return value.integer(1, kMaxRequestTokens, noun); }

}  // namespace

bool OptionsReader::read_sampling(JsonValue member) {
  const std::string_view key = member.key();
  if (key == "max_tokens") sampling_.max_tokens = token_count(member, "max_tokens");
  else if (key == "max_completion_tokens") max_completion_tokens_ = token_count(member, "max_completion_tokens");
  else if (key == "min_tokens") min_tokens_ = member.integer(0, kMaxRequestTokens, "min_tokens");
  else if (key == "temperature")
    sampling_.temperature = number_in(member, 0, kMaxTemperature, "the temperature is not in [0, 2]");
  else if (key == "top_p") sampling_.top_p = number_in(member, kLeastTopP, 1, "top_p is not in (0, 1]");
  else if (key == "seed")
    sampling_.seed = member.integer(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max());
  else if (key == "stop") read_stop_texts(member, sampling_.stop);
  else if (key == "ignore_eos") sampling_.ignore_eos = member.boolean();
  else return false;
  return true;
}

bool OptionsReader::read_delivery(JsonValue member) {
  if (member.key() == "stream") {
    delivery_.stream = member.boolean();
  } else if (member.key() == "stream_options") {
    const JsonValue usage = ObjectReader(member).find("include_usage");
    delivery_.include_usage = usage && !usage.is_null() && usage.boolean();
  } else {
    return false;
  }
  return true;
}

void OptionsReader::read(JsonValue member) {
  if (read_sampling(member) || read_delivery(member)) return;
  const auto refusal = std::find_if(std::begin(kRefusals), std::end(kRefusals),
                                    [&](const Refusal& each) { return each.key == member.key(); });
  if (refusal != std::end(kRefusals) && !refusal->changes_nothing(member)) member.fail(refusal->fact);
}

void OptionsReader::finish() {
  // The newer of OpenAI's two names for the same thing.
  if (max_completion_tokens_) sampling_.max_tokens = max_completion_tokens_;
  // Benchmark clients ask for as many tokens as there may be at most, and for no end before them.
  if (min_tokens_ > 0 && !(sampling_.ignore_eos && sampling_.stop.empty()))
    fail_at("min_tokens", "not supported, except beside ignore_eos without stop");
  if (sampling_.max_tokens && min_tokens_ > *sampling_.max_tokens) fail_at("min_tokens", "more than max_tokens");
}

}  // namespace afore::wire::openai
