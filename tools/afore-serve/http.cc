#include "afore-serve/http.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ctime>
#include <thread>

#include "afore-serve/inject.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/ready_file.h"
#include "common/signals.h"
#include "common/token_file.h"
#include "host/live_requests.h"
#include "host/serving_loop.h"
#include "host/threads/thread_runner.h"
#include "http/live_backend.h"
#include "http/metrics.h"
#include "http/server.h"
#include "http/watchdog.h"
#include "nn/chat_template.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::serve {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kLookEvery{20};                        // at signals
constexpr milliseconds kLastWords{1'000};                     // for clients to hear that the model is gone
constexpr milliseconds kHanging{5'000};                       // far longer than a step
constexpr std::size_t kLatencySample = std::size_t{1} << 13;  // 128 KiB of each latency of the summary

// Clients may name a model by what they like; a folder's path is nobody's business.
std::string served_name(const HttpFlags& flags, const host::LoadedModel& model) {
  if (!flags.served_model_name.empty()) return flags.served_model_name;
  if (flags.model.model.empty()) return model.config().name;
  const std::string name = std::filesystem::weakly_canonical(flags.model.model).filename().string();
  return name.empty() ? model.config().name : name;
}

// The address that a client on this machine can use.
std::string url_of(const std::string& listen, int port) {
  if (listen.find(':') != std::string::npos) return fmt::format("http://[{}]:{}", listen, port);
  return fmt::format("http://{}:{}", listen, port);
}

// A connection takes a file; a shell's usual limit is 1,024.
void raise_file_limit() {
  rlimit files{};
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);  // without it accepting waits until a connection is closed
}

class Endpoint {
 public:
  explicit Endpoint(HttpFlags flags)
      : flags_(std::move(flags)),
        token_(flags_.token_file.empty() ? "" : cli::read_token(flags_.token_file)),
        model_(cli::load_model(flags_.model)),
        chat_template_(nn::ChatTemplate::load(cli::tokenizer_folder(flags_.model))),
        setup_(worker_setup(flags_, model_->config())),
        serving_(loop_options()),
        records_(header()),
        runner_(*model_, options(), setup_.planner, thread_sink(), text_sink()),
        requests_(serving_.serving.max_queue, [this] { return runner_.now(); }),
        metrics_({.model_name = served_name(flags_, *model_),
                  .expert_bytes = setup_.model.expert_bytes,
                  .clock = [this] { return runner_.now(); },
                  .door = [this] { return requests_.door(); }}),
        backend_(card(), parts(), setup_.planner),
        server_(server_options(), backend_),
        interrupted_(cli::catch_interrupts()) {}

  void operator()() {
    server_.start();
    const std::string url = url_of(flags_.listen, server_.port());
    const cli::ReadyFile ready(flags_.ready_file, url + '\n');
    cli::note(fmt::format("{} on {}: {} FFN workers, policy {}{}", backend_.model().id, url, setup_.cluster.ffn_workers,
                          setup_.planner.policy,
                          chat_template_ ? "" : "; no chat template, so /v1/chat/completions is refused"));
    std::thread watcher([this] { watch(); });
    try {
      serve();
    } catch (const std::exception& error) {
      end_watching(watcher);
      fail(error.what());
      throw;
    }
    end_watching(watcher);
    server_.stop();
  }

 private:
  Header header() const {
    Header header = cli::gained(setup_, true);
    header.producer = cli::producer("afore-serve");
    header.source = "recorded";
    header.measured = true;
    return header;
  }

  host::ServingLoopOptions loop_options() const {
    host::ServingLoopOptions options = serving_options(flags_, setup_, model_->config());
    options.latency_sample = kLatencySample;
    return options;
  }

  host::ThreadOptions options() const {
    host::ThreadOptions options = thread_options(flags_, setup_, serving_.serving.kv_budget_tokens);
    options.faults = parse_inject(flags_.inject);
    options.latency_sample = kLatencySample;
    return options;
  }

  http::ModelCard card() const {
    http::ModelCard card;
    card.id = served_name(flags_, *model_);
    card.created_s = std::time(nullptr);
    const std::int64_t positions = model_->config().max_positions;
    card.max_model_len = std::min(serving_.serving.kv_budget_tokens, positions);
    return card;
  }

  http::LiveParts parts() {
    return {.tokenizer = model_->tokenizer,
            .chat_template = chat_template_ ? &*chat_template_ : nullptr,
            .requests = requests_,
            .records = records_,
            .change_plans = [this](const pipeline::PlannerOptions& planner) { runner_.engine().change_plans(planner); },
            .not_ready = [this] { return not_ready(runner_.engine().health()); },
            .metrics = [this] { return metrics(); }};
  }

  http::ServerOptions server_options() const {
    http::ServerOptions options;
    options.host = flags_.listen;
    options.port = static_cast<int>(flags_.port);
    options.token = token_;
    options.limits.connections = static_cast<std::size_t>(flags_.max_connections);
    options.log = [](std::string_view line) { cli::note(std::string(line)); };
    return options;
  }

  host::ThreadSink thread_sink() {
    host::ThreadSink sink;
    sink.planned = [this](const Batch* batch, const Demand& demand, const pipeline::PlannedTarget& planned) {
      records_.planned(batch, demand, planned);
      metrics_.on_planned(demand, planned);
    };
    sink.observed = [this](const Observed& observed) {
      records_.observed(observed);
      metrics_.on_observed(observed);
    };
    return sink;
  }

  host::TextSink text_sink() {
    return [this](const std::string& id, std::string_view text, std::int64_t tokens, bool last) {
      if (!last) backend_.on_token(id, text, tokens);
    };
  }

  void serve() {
    host::ServingLoop loop(serving_, runner_, [this](const Completion& completion) { backend_.on_end(completion); },
                           {&requests_, &metrics_});
    loop.run(requests_, &stop_);
    Summary summary = runner_.engine().summary();
    loop.add_unread(requests_.door().unread);
    loop.fill(summary);
    summary.producer = cli::producer("afore-serve");
    summary.notes["cost"] = setup_.profile.name;
    records_.end(summary);
    server_.drain(kLastWords);
    ByteWriter out("-");
    out.write_line(wire::to_json(summary));
    out.finish();
  }

  // A first signal drains; by a second one the process ends where it is.
  void watch() {
    while (*interrupted_ == 0 && !ended_.load()) std::this_thread::sleep_for(kLookEvery);
    if (ended_.load()) return;
    cli::note(fmt::format("draining, for {} s at the most", flags_.drain_s));
    draining_.store(true);
    server_.drain(std::chrono::seconds(flags_.drain_s));
    requests_.close();
    // What nobody waits for any more was cancelled; a loop that does not end now waits for something that hangs.
    for (milliseconds waited{0}; waited < kHanging && !ended_.load(); waited += kLookEvery)
      std::this_thread::sleep_for(kLookEvery);
    stop_ = 1;
  }

  void end_watching(std::thread& watcher) {
    ended_.store(true);
    watcher.join();
  }

  void fail(const std::string& why) {
    {
      const std::lock_guard lock(failure_mutex_);
      failure_ = why;
    }
    requests_.close();
    backend_.end_all();
    server_.drain(kLastWords);
    server_.stop();
  }

  std::string not_ready(const host::EngineHealth& health) {
    {
      const std::lock_guard lock(failure_mutex_);
      if (!failure_.empty()) return failure_;
    }
    return http::Watchdog().not_ready(health, runner_.now(), draining_.load());
  }

  std::string metrics() {
    const host::EngineHealth health = runner_.engine().health();
    return metrics_.text(
        {.ready = not_ready(health).empty(), .frozen = backend_.frozen(), .ffn_queue = health.ffn_queue});
  }

  HttpFlags flags_;
  std::string token_;
  std::unique_ptr<host::LoadedModel> model_;
  std::optional<nn::ChatTemplate> chat_template_;
  cli::Setup setup_;
  host::ServingLoopOptions serving_;
  http::LiveRecords records_;
  host::ThreadRunner runner_;
  host::LiveRequests requests_;
  http::Metrics metrics_;
  http::LiveBackend backend_;
  http::Server server_;
  const StopFlag* interrupted_;
  StopFlag stop_{0};
  std::atomic<bool> ended_{false}, draining_{false};
  std::mutex failure_mutex_;
  std::string failure_;
};

}  // namespace

void add_http_flags(cli::Command app, HttpFlags& flags) {
  cli::add_model_source_flags(app, flags.model);
  app.option("--listen", flags.listen, "Numeric address; any but the loopback's needs --token-file")
      .value_name("ADDRESS")
      .show_default();
  app.integer("--port", flags.port, "Port, 0 for any that is free", 0, 65535);
  app.option("--token-file", flags.token_file,
             "FILE whose first line clients must send as Authorization: Bearer; all but /health asks for it")
      .value_name("FILE");
  app.option("--ready-file", flags.ready_file, "Write the endpoint's URL into FILE once it answers").value_name("FILE");
  app.option("--served-model-name", flags.served_model_name, "What clients call the model (default: its own name)")
      .value_name("NAME");
  app.integer("--max-connections", flags.max_connections, "Connections at once", 1, 1 << 20);
  app.integer("--drain-s", flags.drain_s, "After SIGTERM or Ctrl-C: time that running requests get", 0, 86'400);
  add_worker_flags(app, flags);
  app.option("--inject", flags.inject, "For tests: what goes wrong, like hang-plan@2, hang-copy@2, fail-scheduler@2")
      .value_name("LIST");
}

void serve_http(HttpFlags flags) {
  settle_device(flags);
  cli::signals_end_well();
  raise_file_limit();
  Endpoint endpoint(std::move(flags));
  endpoint();
}

}  // namespace afore::serve
