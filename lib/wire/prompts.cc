#include "wire/prompts.h"

#include <cmath>

#include "wire/json_tree.h"
#include "wire/wire.h"

namespace afore::wire {
namespace {

constexpr double kMaxTemperature = 100, kMaxArrivalMs = 1e9;

double number_in(JsonValue value, double least, double most, const char* fact) {
  const double number = value.number();
  if (!(number >= least && number <= most)) value.fail(fact);
  return number;
}

std::string stop_text(JsonValue value) {
  std::string text(value.string());
  if (text.empty() || text.size() > kMaxStopBytes) value.fail("a stop text has 1 to 256 bytes");
  return text;
}

void read_stop(JsonValue value, std::vector<std::string>& stop) {
  if (value.is_null()) return;
  if (value.type() == JsonType::string) {
    stop.push_back(stop_text(value));
    return;
  }
  value.expect(JsonType::array);
  if (value.size() > kMaxStops) value.fail("more than 16 stop texts");
  for (const JsonValue item : value) stop.push_back(stop_text(item));
}

void read_member(JsonValue value, PromptLine& line) {
  const std::string_view key = value.key();
  if (key == "id") line.id = value.string();
  else if (key == "prompt") line.prompt = value.string();
  else if (key == "max_tokens") line.max_tokens = value.integer(1, kMaxRequestTokens, "max_tokens");
  else if (key == "temperature")
    line.temperature = number_in(value, 0, kMaxTemperature, "the temperature is not in [0, 100]");
  else if (key == "top_p") line.top_p = number_in(value, 1e-9, 1, "top_p is not in (0, 1]");
  else if (key == "seed") line.seed = static_cast<std::uint64_t>(value.integer(0, kMaxInteger, "seed"));
  else if (key == "stop") read_stop(value, line.stop);
  else if (key == "ignore_eos") line.ignore_eos = value.boolean();
  else if (key == "arrival_ms")
    line.arrival_ns =
        static_cast<Nanos>(std::llround(number_in(value, 0, kMaxArrivalMs, "the arrival is not in [0, 1e9] ms") * 1e6));
  else
    value.fail("unknown key",
               "a prompt has id, prompt, max_tokens, temperature, top_p, seed, stop, ignore_eos and arrival_ms");
}

}  // namespace

PromptLine parse_prompt_line(std::string_view line, const std::string& source_name, std::int64_t line_number) {
  JsonTree tree;
  ObjectReader object(tree.parse(line, source_name, line_number));
  object.required("prompt");
  PromptLine prompt;
  for (const JsonValue member : object.value()) read_member(member, prompt);
  if (prompt.prompt.empty()) object.required("prompt").fail("the prompt is empty");
  return prompt;
}

}  // namespace afore::wire
