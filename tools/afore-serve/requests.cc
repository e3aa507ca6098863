#include "afore-serve/requests.h"

#include <fmt/format.h>

#include <cmath>

#include "afore-serve/setup.h"
#include "common/latency_limits.h"
#include "util/error.h"

namespace afore::serve {
namespace {

constexpr double kMaxSeconds = 1e6;  // 11 days

Nanos nanos(double value, double unit_ns) { return static_cast<Nanos>(std::llround(value * unit_ns)); }

pipeline::ServiceObjectives parse_goodput(const std::vector<std::string>& texts) {
  pipeline::ServiceObjectives objectives;
  cli::parse_limits(texts, "--goodput",
                    {{"ttft", &objectives.ttft_ms}, {"tpot", &objectives.tpot_ms}, {"e2el", &objectives.e2el_ms}});
  return objectives;
}

}  // namespace

void add_request_flags(cli::Command app, RequestFlags& flags, const char* usual_cache) {
  const std::string group = "streams of requests";
  std::vector<cli::Option> options;
  options.push_back(app.integer("--max-num-seqs", flags.max_num_seqs, "Running requests of a microbatch", 1, 1 << 20));
  options.push_back(app.integer("--max-num-batched-tokens", flags.max_num_batched_tokens,
                                "Tokens of a step of a microbatch: one per decoding request, the rest prompts", 1,
                                1 << 24));
  options.push_back(app.integer("--kv-budget-tokens", flags.kv_budget_tokens,
                                fmt::format("Tokens an attention worker can cache (default: {})", usual_cache), 16,
                                std::int64_t{1} << 40));
  options.push_back(app.integer("--max-queue", flags.max_queue, "Waiting requests; one more is rejected", 1, 1 << 24));
  options.push_back(app.real("--max-queue-ms", flags.max_queue_ms,
                             "A request that waited this long is rejected (default: half of --goodput's ttft)",
                             kMaxSeconds * 1e3));
  options.push_back(app.real("--timeout-s", flags.timeout_s,
                             "A request not complete this long after its arrival is given up", kMaxSeconds));
  options.push_back(app.real("--duration-s", flags.duration_s, "End the run at this time of its clock", kMaxSeconds));
  options.push_back(
      app.option("--goodput", flags.goodput, "Limits of a good request in ms, like \"ttft:2000 tpot:80 e2el:20000\"")
          .value_name("LIMITS")
          .one_value());
  for (cli::Option option : options) {
    option.under(group);
    option.on_value([&flags, name = option.name()] {
      if (flags.given.empty()) flags.given = name;
    });
  }
}

pipeline::ServiceObjectives service_objectives(const RequestFlags& flags) { return parse_goodput(flags.goodput); }

bool is_request_stream(const std::optional<Header>& header) {
  return header && header->source == "requests" && !header->planner;
}

void refuse_request_flags(const RequestFlags& flags) {
  if (!flags.given.empty())
    throw Error(ErrorKind::usage, flags.given + " applies to streams of requests, and this stream has targets",
                "afore-trace import --from azure-csv or mooncake makes streams of requests");
}

void refuse_predictor(const cli::PlanningFlags& flags) {
  if (!flags.predictor.empty())
    throw Error(ErrorKind::usage, "--predictor predicts from recorded routing, and this stream has requests",
                "serve them first (replay writes demand), or predict while a model is recorded");
}

host::ServingLoopOptions serving_loop_options(const RequestFlags& f, const cli::Setup& setup) {
  if (f.max_num_batched_tokens < f.max_num_seqs)
    throw Error(
        ErrorKind::usage,
        fmt::format("--max-num-batched-tokens {} is below --max-num-seqs {}", f.max_num_batched_tokens, f.max_num_seqs),
        "a step has a token for each decoding request");
  host::ServingLoopOptions options;
  options.layers = setup.model.moe_layers.size();
  options.objectives = parse_goodput(f.goodput);
  batch::ServingOptions& serving = options.serving;
  serving.microbatches = static_cast<int>(setup.cluster.microbatches);
  serving.attention_workers = static_cast<int>(setup.cluster.attention_workers);
  serving.max_num_seqs = f.max_num_seqs;
  serving.max_num_batched_tokens = f.max_num_batched_tokens;
  serving.kv_budget_tokens = f.kv_budget_tokens != kAbsent ? f.kv_budget_tokens : kv_budget_tokens(setup.sized);
  serving.max_queue = f.max_queue;
  // Half of the limit is left for the prompt's computation; later, a request could only miss it.
  if (f.max_queue_ms) serving.max_queue_ns = nanos(*f.max_queue_ms, 1e6);
  else if (options.objectives.ttft_ms) serving.max_queue_ns = nanos(*options.objectives.ttft_ms / 2, 1e6);
  if (f.timeout_s) serving.timeout_ns = nanos(*f.timeout_s, 1e9);
  if (f.duration_s) options.end_ns = nanos(*f.duration_s, 1e9);
  return options;
}

host::ClosedLoopOptions closed_loop_options(const ServeFlags& flags, const cli::Setup& setup) {
  const host::ServingLoopOptions loop = serving_loop_options(flags.requests, setup);
  const ModelSpec& model = setup.model;
  if (model.experts == kAbsent || model.top_k == kAbsent || model.moe_layers.empty())
    throw Error(ErrorKind::data, "the header of the stream does not say the model's experts, top_k and moe_layers",
                "make the stream with afore-trace import");
  host::ClosedLoopOptions options;
  options.sim = sim_options(flags, setup);
  options.planner = setup.planner;
  options.serving = loop.serving;
  options.objectives = loop.objectives;
  options.end_ns = loop.end_ns;
  return options;
}

bool RequestFeed::next(host::IncomingRequest& request) {
  while (stream_.next()) {
    const Record& record = stream_.record();
    pass_(stream_.raw(), cli::kind_of(record));
    if (const auto* sequence = std::get_if<SequenceRecord>(&record))
      sequences_.emplace(sequence->id, std::make_shared<const SequenceRecord>(*sequence));
    if (const auto* incoming = std::get_if<RequestRecord>(&record)) {
      request = {*incoming, sequences_.at(incoming->sequence)};  // the decoder checked that it is there
      return true;
    }
    const bool known = std::holds_alternative<RequestRecord>(record) ||
                       std::holds_alternative<SequenceRecord>(record) || std::holds_alternative<Header>(record) ||
                       std::holds_alternative<UnknownRecord>(record);
    if (!known)
      throw Error(ErrorKind::data,
                  fmt::format("{}:{}: a {} in a stream whose header says that its requests are still to be served",
                              stream_.lines().name(), stream_.line_number(), cli::kind_of(record)),
                  "streams of targets and of requests cannot be joined");
  }
  return false;
}

}  // namespace afore::serve
