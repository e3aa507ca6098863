#pragma once
// Prompts as JSON lines: {"id":"math-01","prompt":"...","max_tokens":64} and, where they differ from the run's
// defaults, temperature, top_p, seed, stop (a text or a list), ignore_eos, arrival_ms. Unknown keys are errors: a
// misspelt one would change the run silently.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/ids.h"

namespace afore::wire {

inline constexpr std::int64_t kMaxStops = 16;
inline constexpr std::size_t kMaxStopBytes = 256;

struct PromptLine {
  std::string id;  // empty: the reader's to give
  std::string prompt;
  std::optional<std::int64_t> max_tokens;
  std::optional<double> temperature, top_p;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> stop;
  std::optional<bool> ignore_eos;
  Nanos arrival_ns = 0;
};

// Error{data} naming source, line and key.
PromptLine parse_prompt_line(std::string_view line, const std::string& source_name, std::int64_t line_number);

}  // namespace afore::wire
