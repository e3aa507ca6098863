#include "wire/prompts.h"

#include <cmath>

#include "wire/json_tree.h"
#include "wire/sampling_values.h"
#include "wire/wire.h"

namespace afore::wire {
namespace {

constexpr double kMaxTemperature = 100, kMaxArrivalMs = 1e9;

void read_member(JsonValue value, PromptLine& line) {
  const std::string_view key = value.key();
  if (key == "id") line.id = value.string();
  else if (key == "prompt") line.prompt = value.string();
  else if (key == "max_tokens") line.max_tokens = value.integer(1, kMaxRequestTokens, "max_tokens");
  else if (key == "temperature")
    line.temperature = number_in(value, 0, kMaxTemperature, "the temperature is not in [0, 100]");
  else if (key == "top_p") line.top_p = number_in(value, kLeastTopP, 1, "top_p is not in (0, 1]");
  else if (key == "seed") line.seed = static_cast<std::uint64_t>(value.integer(0, kMaxInteger, "seed"));
  else if (key == "stop") read_stop_texts(value, line.stop);
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
