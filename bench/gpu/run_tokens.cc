// Texts of one model on two devices. They differ by rounding, so that where two tokens are nearly level either may
// come, and another text from there on (docs/serving.md). The reference says where that is.
#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "bench/gpu/run_files.h"
#include "wire/json_writer.h"

namespace afore::bench::gpu {
namespace {

// Twice what logits may differ by between a device that rounds activations to bf16 and one that does not
// (tests/device_cuda).
constexpr double kNearTie = 0.16;

// Why the tokens are not the same; empty where they are, or where they may differ from there on.
std::string complaint(const std::string& prompt, const std::vector<std::int64_t>& got,
                      const std::vector<std::int64_t>& base, const Reference& reference, std::int64_t& same) {
  const auto at =
      static_cast<std::size_t>(std::mismatch(got.begin(), got.end(), base.begin(), base.end()).first - got.begin());
  same += static_cast<std::int64_t>(at);
  if (at == base.size() && at == got.size()) return "";
  const auto ids = reference.ids.find(prompt);
  const std::string where = fmt::format("{}: {} tokens are the same of {}", prompt, at, base.size());
  if (at == base.size() || at == got.size()) return where + ", then one of them ends";
  if (ids == reference.ids.end() || at >= ids->second.size() ||
      !std::equal(base.begin(), base.begin() + static_cast<std::ptrdiff_t>(at), ids->second.begin()))
    return where + ", then they differ, and the reference does not say how clearly";
  const double margin = reference.margins.at(prompt)[at];
  return margin < kNearTie
             ? ""
             : fmt::format("{}, then {} instead of {}, with a margin of {}", where, got[at], base[at], margin);
}

}  // namespace

Tokens completions(const std::string& name, const std::string& text) {
  Tokens tokens;
  std::istringstream in(text);
  wire::JsonTree tree;
  for (std::string line; std::getline(in, line);) {
    wire::ObjectReader record(tree.parse_syntax(line, name));
    if (record.required("kind").string() != "completion") continue;
    std::vector<std::int64_t>& ids = tokens[std::string(record.required("id").string())];
    for (const wire::JsonValue id : record.required("token_ids")) ids.push_back(id.integer());
  }
  return tokens;
}

Reference read_reference(const std::string& text) {
  Reference reference;
  wire::JsonTree tree;
  std::int64_t number = 0;
  for (const wire::JsonValue item : tree.parse_syntax(text, "the reference")) {
    wire::ObjectReader prompt(item);
    const std::string id = fmt::format("p{}", number++);
    for (const wire::JsonValue token : prompt.required("greedy_ids")) reference.ids[id].push_back(token.integer());
    for (const wire::JsonValue margin : prompt.required("greedy_margin"))
      reference.margins[id].push_back(margin.number());
  }
  return reference;
}

std::string reference_prompts(const std::string& text) {
  std::string out;
  wire::JsonTree tree;
  std::int64_t number = 0;
  for (const wire::JsonValue item : tree.parse_syntax(text, "the reference")) {
    wire::ObjectReader prompt(item);
    wire::JsonWriter json(out);
    json.open('{');
    json.string("id", fmt::format("p{}", number++));
    json.string("prompt", prompt.required("text").string());
    json.integer("max_tokens", static_cast<std::int64_t>(prompt.required("greedy_ids").size()));
    json.boolean("ignore_eos", true);
    json.close('}');
    out += "\n";
  }
  return out;
}

void compare_tokens(const std::string& name, const Tokens& got, const std::string& base_name, const Tokens& base,
                    const Reference& reference, Report& report) {
  std::string first;
  std::int64_t same = 0, all = 0;
  for (const auto& [prompt, tokens] : base) {
    all += std::ssize(tokens);
    const auto there = got.find(prompt);
    const std::string why =
        there == got.end() ? prompt + ": no completion" : complaint(prompt, there->second, tokens, reference, same);
    if (first.empty()) first = why;
  }
  if (base.empty()) first = "there is nothing to compare";
  const std::string title = fmt::format("{}: tokens are those of {}", name, base_name);
  report.check("serve", title, first);
  report.figures.push_back({.section = "serve",
                            .name = title,
                            .unit = "tokens",
                            .value = static_cast<double>(same),
                            .p95 = {},
                            .n = 1,
                            .note = fmt::format("of {}, before the first difference of each text", all),
                            .goal = {},
                            .met = false});
}

}  // namespace afore::bench::gpu
