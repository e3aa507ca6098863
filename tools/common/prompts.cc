#include "common/prompts.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "common/data_files.h"
#include "common/messages.h"
#include "common/request_trace.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/prompts.h"

namespace afore::cli {
namespace {

constexpr std::int64_t kMaxTokens = 64;  // of a prompt that does not say
const std::vector<std::string> kDomains = {"conversation", "documents", "code", "math"};

struct PromptLine : wire::PromptLine {
  std::string place;  // "prompts.jsonl:3", for messages
};

std::string id_of(const PromptLine& line, std::size_t index) {
  return line.id.empty() ? fmt::format("p{}", index) : line.id;
}

// JSON lines, or one prompt per line: each line may be either.
std::vector<PromptLine> read_prompts(const std::string& path) {
  LineReader lines(path);
  lines.take_unended();
  std::vector<PromptLine> prompts;
  std::set<std::string> ids;
  std::string_view line;
  while (lines.next(line)) {
    if (line.empty()) continue;
    if (line.front() == '{') {
      prompts.push_back({wire::parse_prompt_line(line, lines.name(), lines.line_number()), ""});
    } else {
      prompts.emplace_back();
      prompts.back().prompt = line;
    }
    prompts.back().place = fmt::format("{}:{}", lines.name(), lines.line_number());
    const std::string id = id_of(prompts.back(), prompts.size() - 1);
    if (!ids.insert(id).second)
      throw Error(ErrorKind::data, fmt::format("{}: the id {} is already there", prompts.back().place, id),
                  "prompts without one are p0, p1, ... in the order of the lines");
  }
  if (prompts.empty()) throw Error(ErrorKind::data, lines.name() + ": there is no prompt in it", "one prompt per line");
  return prompts;
}

// mixed: one of each domain in turn.
std::vector<PromptLine> read_workload(const std::string& name) {
  const auto domain = [](const std::string& of) { return read_prompts(data_file("data/workloads/" + of + ".jsonl")); };
  if (name != "mixed") return domain(name);
  std::vector<std::vector<PromptLine>> all;
  std::size_t longest = 0;
  for (const std::string& each : kDomains) {
    all.push_back(domain(each));
    longest = std::max(longest, all.back().size());
  }
  std::vector<PromptLine> mixed;
  for (std::size_t i = 0; i < longest; ++i)
    for (const std::vector<PromptLine>& prompts : all)
      if (i < prompts.size()) mixed.push_back(prompts[i]);
  return mixed;
}

std::vector<PromptLine> named_prompts(const PromptFlags& flags) {
  if (!flags.prompts.empty()) {
    std::vector<PromptLine> prompts(flags.prompts.size());
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      prompts[i].prompt = flags.prompts[i];
      prompts[i].place = fmt::format("--prompt {}", i + 1);
    }
    return prompts;
  }
  return flags.workload.empty() ? read_prompts(flags.file) : read_workload(flags.workload);
}

class Maker {
 public:
  Maker(const PromptFlags& flags, const nn::Tokenizer& tokenizer, const nn::ModelConfig& config)
      : flags_(flags), tokenizer_(tokenizer), config_(config) {}

  host::IncomingRequest request(const PromptLine& line, std::string id, std::uint64_t number) const {
    auto prompt = std::make_shared<host::Prompt>();
    prompt->token_ids = tokenizer_.encode(line.prompt);
    const auto size = static_cast<std::int64_t>(prompt->token_ids.size());
    if (size == 0) throw Error(ErrorKind::data, line.place + ": the prompt has no tokens");
    if (size >= config_.max_positions)
      throw Error(ErrorKind::data,
                  fmt::format("{}: the prompt's {} tokens leave no room in a context of {}", line.place, size,
                              config_.max_positions),
                  "shorten it");
    for (const int token : prompt->token_ids)
      if (token >= config_.vocab)
        throw Error(ErrorKind::data,
                    fmt::format("{}: the prompt's token {} is outside the model's vocabulary", line.place, token),
                    "tokenizer.json is not this model's");
    prompt->temperature = line.temperature.value_or(flags_.temperature);
    prompt->top_p = line.top_p.value_or(flags_.top_p.value_or(1));
    prompt->seed = line.seed.value_or(static_cast<std::uint64_t>(flags_.seed) + number);
    prompt->ignore_eos = line.ignore_eos.value_or(flags_.ignore_eos);
    prompt->stop = line.stop.empty() ? flags_.stop : line.stop;
    host::IncomingRequest request;
    request.record.id = std::move(id);
    request.record.arrival_ns = line.arrival_ns;
    request.record.prompt_tokens = size;
    const std::int64_t wanted = flags_.max_tokens != kAbsent ? flags_.max_tokens : line.max_tokens.value_or(kMaxTokens);
    request.record.output_tokens = std::min(wanted, config_.max_positions - size);
    request.prompt = std::move(prompt);
    return request;
  }

 private:
  const PromptFlags& flags_;
  const nn::Tokenizer& tokenizer_;
  const nn::ModelConfig& config_;
};

// Request `i` of prompts that repeat.
host::IncomingRequest from_line(const std::vector<PromptLine>& lines, std::size_t i, const Maker& maker) {
  const PromptLine& line = lines[i % lines.size()];
  std::string id = id_of(line, i % lines.size());
  if (i >= lines.size()) id += fmt::format("#{}", i / lines.size());
  return maker.request(line, std::move(id), i);
}

std::vector<host::IncomingRequest> from_lines(const PromptFlags& flags, const std::vector<PromptLine>& lines,
                                              const Maker& maker) {
  const std::size_t count = flags.num_prompts > 0 ? static_cast<std::size_t>(flags.num_prompts) : lines.size();
  std::vector<host::IncomingRequest> requests;
  for (std::size_t i = 0; i < count; ++i) requests.push_back(from_line(lines, i, maker));
  std::stable_sort(requests.begin(), requests.end(),
                   [](const auto& a, const auto& b) { return a.record.arrival_ns < b.record.arrival_ns; });
  return requests;
}

// The trace says how long prompts and outputs are and when they come; their text is that of a workload, cut to length.
std::vector<host::IncomingRequest> from_trace(const PromptFlags& flags, const nn::Tokenizer& tokenizer,
                                              const nn::ModelConfig& config) {
  const std::vector<wire::TracedRequest> trace =
      load_request_trace(flags.trace, trace_form(flags.trace), {{}, {}, flags.num_prompts, flags.rate_scale});
  if (trace.empty()) throw Error(ErrorKind::data, flags.trace + ": there is no request in it");
  std::vector<int> text;
  for (const PromptLine& line : read_workload(flags.workload.empty() ? "mixed" : flags.workload)) {
    const std::vector<int> ids = tokenizer.encode(line.prompt);
    text.insert(text.end(), ids.begin(), ids.end());
  }
  std::vector<host::IncomingRequest> requests;
  std::size_t at = 0, cut = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const std::int64_t context = config.max_positions;
    const std::int64_t wanted =
        flags.max_tokens != kAbsent ? std::min(flags.max_tokens, trace[i].output_tokens) : trace[i].output_tokens;
    const std::int64_t output = std::min(wanted, context / 2);
    const std::int64_t size = std::min(trace[i].prompt_tokens, context - output);
    if (output != wanted || size != trace[i].prompt_tokens) ++cut;
    auto prompt = std::make_shared<host::Prompt>();
    for (std::int64_t t = 0; t < size; ++t, at = (at + 1) % text.size()) prompt->token_ids.push_back(text[at]);
    prompt->temperature = flags.temperature;
    prompt->top_p = flags.top_p.value_or(1);
    prompt->seed = static_cast<std::uint64_t>(flags.seed) + i;
    prompt->ignore_eos = true;  // the trace says how long the output is
    prompt->stop = flags.stop;
    host::IncomingRequest request;
    request.record = {fmt::format("r{}", i), trace[i].at_ns, size, output, "", 0};
    request.prompt = std::move(prompt);
    requests.push_back(std::move(request));
  }
  if (cut > 0)
    warn(fmt::format("{} of {} requests are longer than a context of {} tokens, and were cut to fit", cut, trace.size(),
                     config.max_positions));
  return requests;
}

}  // namespace

void add_prompt_flags(Command app, PromptFlags& flags) {
  const std::string group = "prompts";
  std::vector<Option> options;
  options.push_back(app.option("--prompt", flags.prompts, "A prompt; repeatable").value_name("TEXT").one_value());
  options.push_back(app.option("--prompts", flags.file,
                               "Prompts, one per line: text, or an object with prompt, id, max_tokens, "
                               "temperature, top_p, seed, stop, ignore_eos, arrival_ms; - for standard input")
                        .value_name("FILE"));
  options.push_back(app.choice("--workload", flags.workload, "Bundled prompts",
                               {"conversation", "documents", "code", "math", "mixed"}));
  options.push_back(app.option("--trace", flags.trace,
                               "Arrivals and lengths of Azure's .csv or Mooncake's .jsonl; prompts are made up from "
                               "--workload")
                        .value_name("FILE"));
  options.push_back(app.real("--rate-scale", flags.rate_scale, "Requests of --trace come so many times as fast", 1e6));
  options.push_back(app.integer("--num-prompts", flags.num_prompts,
                                "So many requests: prompts repeat, or the first are taken (default: all, once)", 0,
                                1 << 24));
  options.push_back(app.integer("--max-tokens", flags.max_tokens,
                                "Tokens to generate at most (default: what a prompt says, else 64)", 1, 1 << 24));
  options.push_back(
      app.option("--temperature", flags.temperature, "0 takes the likeliest token").within(0, 100).show_default());
  options.push_back(app.real("--top-p", flags.top_p,
                             "Sample from the likeliest tokens that reach this "
                             "probability",
                             1));
  options.push_back(app.integer("--seed", flags.seed, "Of sampling; request i uses seed + i"));
  options.push_back(app.option("--stop", flags.stop, "Text that ends a completion; repeatable").one_value());
  options.push_back(app.flag("--ignore-eos", flags.ignore_eos, "Generate up to the token limit"));
  for (Option option : options) option.under(group);
}

namespace {

void check(const PromptFlags& flags) {
  const int ways = !flags.prompts.empty() + !flags.file.empty() + (!flags.workload.empty() || !flags.trace.empty());
  if (ways == 0)
    throw Error(ErrorKind::usage, "there is nothing to do",
                "give --prompt TEXT, --prompts FILE, --workload NAME or --trace FILE");
  if (ways > 1)
    throw Error(ErrorKind::usage, "prompts are named in several ways",
                "give one of --prompt, --prompts, and --workload or --trace");
  if (!(flags.temperature >= 0))
    throw Error(ErrorKind::usage, "--temperature is not a number", "0 takes the likeliest token");
  for (const std::string& stop : flags.stop)
    if (stop.empty() || stop.size() > wire::kMaxStopBytes)
      throw Error(ErrorKind::usage, "--stop: a stop text has 1 to 256 bytes");
}

}  // namespace

struct PromptSource::Repeats {
  std::vector<PromptLine> lines;
  Maker maker;
};

PromptSource::PromptSource(const PromptFlags& flags, const nn::Tokenizer& tokenizer, const nn::ModelConfig& config,
                           bool repeat) {
  check(flags);
  if (!flags.trace.empty()) {
    requests_ = from_trace(flags, tokenizer, config);
    return;
  }
  Repeats source{named_prompts(flags), Maker(flags, tokenizer, config)};
  requests_ = from_lines(flags, source.lines, source.maker);
  if (repeat && flags.num_prompts == 0) repeats_ = std::make_unique<Repeats>(std::move(source));
}

PromptSource::~PromptSource() = default;

bool PromptSource::next(host::IncomingRequest& request) {
  const std::size_t i = next_++;
  if (i < requests_.size()) {
    request = requests_[i];
    return true;
  }
  if (!repeats_) return false;
  request = from_line(repeats_->lines, i, repeats_->maker);
  request.record.arrival_ns = requests_.back().record.arrival_ns;
  return true;
}

std::vector<host::IncomingRequest> load_prompts(const PromptFlags& flags, const nn::Tokenizer& tokenizer,
                                                const nn::ModelConfig& config) {
  return PromptSource(flags, tokenizer, config, false).requests();
}

}  // namespace afore::cli
