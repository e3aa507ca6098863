#include "afore-serve/run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "afore-serve/requests.h"
#include "afore-serve/run_output.h"
#include "common/cli.h"
#include "common/report_file.h"
#include "common/signals.h"
#include "host/finite_requests.h"
#include "host/monolith.h"
#include "host/threads/thread_runner.h"
#include "util/error.h"

namespace afore::serve {
namespace {

// For a paced run to say anything about its workers: their own work, of the cores' time; how long operations lasted, by
// how long they should have.
constexpr double kMostCpuShare = 0.5, kMostStretch = 1.1;

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Its requests one after the other, as they are asked for.
host::FiniteRequests feed(std::vector<host::IncomingRequest>& requests) {
  return host::FiniteRequests([&requests, next = std::size_t{0}](host::IncomingRequest& request) mutable {
    if (next == requests.size()) return false;
    request = std::move(requests[next++]);
    return true;
  });
}

class Run {
 public:
  explicit Run(RunFlags flags)
      : flags_(std::move(flags)),
        model_(cli::load_model(flags_.model)),
        setup_(worker_setup(flags_, model_->config())),
        requests_(cli::load_prompts(flags_.prompts, model_->tokenizer, model_->config())),
        serving_(serving_options(flags_, setup_, model_->config())),
        out_(flags_.json, requests_.size(), flags_.record, flags_.report),
        interrupted_(cli::catch_interrupts()) {
    // Prompts that are all here wait their turn; what a trace brings at its own times may be refused.
    if (flags_.prompts.trace.empty())
      serving_.serving.max_queue = std::max<std::int64_t>(serving_.serving.max_queue, std::ssize(requests_));
  }

  void operator()() {
    out_.record(header());
    flags_.host == "threads" ? on_threads() : monolithic();
  }

 private:
  Header header() const {
    const bool threads = flags_.host == "threads";
    Header header = cli::gained(setup_, threads);
    if (!threads) header.cluster = {.microbatches = setup_.cluster.microbatches};  // there are no workers
    header.producer = cli::producer("afore-serve");
    header.seed = static_cast<std::uint64_t>(flags_.prompts.seed);
    header.source = "recorded";
    header.measured = true;
    return header;
  }

  void on_threads() {
    host::ThreadSink sink;
    if (out_.records()) {
      sink.planned = [this](const Batch* batch, const Demand& demand, const pipeline::PlannedTarget& planned) {
        if (batch != nullptr) out_.record(*batch);
        out_.record(demand);
        if (planned.before) out_.record(*planned.before);
        out_.record(planned.plan);
        if (planned.completed) out_.record(*planned.completed);
      };
      sink.observed = [this](const Observed& observed) { out_.record(observed); };
      if (flags_.timeline) sink.operation = [this](const Operation& operation) { out_.record(operation); };
      else if (out_.pictures()) sink.operation = [this](const Operation& operation) { out_.picture(operation); };
    }
    host::ThreadRunner runner(*model_, thread_options(flags_, setup_, serving_.serving.kv_budget_tokens),
                              setup_.planner, sink, text_sink());
    const double cpu_s = cpu_seconds();
    const Nanos start_ns = runner.now();
    serve(runner, [&] {
      Summary summary = runner.engine().summary();
      const double wall_s = static_cast<double>(runner.now() - start_ns) / 1e9;
      const double share =
          (cpu_seconds() - cpu_s) / wall_s / static_cast<double>(std::max(1u, std::thread::hardware_concurrency()));
      summary.notes["cpu_share"] = fmt::format("{:.3f}", share);
      if (flags_.pace) {
        summary.notes["paced"] = "true";
        stretch_ = runner.engine().stretch();
        summary.notes["pace_stretch"] = fmt::format("{:.3f}", stretch_);
      }
      cpu_share_ = share;
      return summary;
    });
    if (flags_.pace) check_pace();
  }

  void check_pace() const {
    if (cpu_share_ > kMostCpuShare)
      throw Error(
          ErrorKind::answer_no,
          fmt::format("the workers' own work took {:.0f} % of the cores' time: at this pace they were in each "
                      "other's way, and the times say nothing",
                      cpu_share_ * 100),
          fmt::format("take a machine {:.1f} times as slow: --cost 'NAME*FACTOR'", cpu_share_ / kMostCpuShare * 1.3));
    if (stretch_ > kMostStretch)
      throw Error(ErrorKind::answer_no,
                  fmt::format("operations lasted {:.2f} times what the cost says: this machine cannot keep that pace",
                              stretch_),
                  fmt::format("take a machine {:.0f} times as slow, --cost 'NAME*FACTOR', or one without other work",
                              std::ceil(1 + (stretch_ - 1) / (kMostStretch - 1))));
  }

  void monolithic() {
    host::MonolithOptions options;
    options.microbatches = static_cast<int>(setup_.cluster.microbatches);
    options.kv_budget_tokens = serving_.serving.kv_budget_tokens;
    options.attention_workers = static_cast<int>(setup_.cluster.attention_workers);
    options.threads = static_cast<int>(flags_.threads);
    options.isa = flags_.isa == "auto" ? device::cpu::best_isa() : device::cpu::parse_isa(flags_.isa);
    options.wall_clock = true;
    host::MonolithSink sink;
    if (out_.records())
      sink = [this](const Batch* batch, std::span<const Prediction>, const Demand& demand, const Routing*) {
        if (batch != nullptr) {
          Batch split_evenly = *batch;  // by whoever has attention workers
          split_evenly.per_attention_worker.clear();
          out_.record(split_evenly);
        }
        out_.record(demand);
      };
    host::Monolith runner(*model_, options, std::move(sink), text_sink());
    serve(runner, [&] {
      Summary summary;
      summary.host = "monolithic";
      summary.device = std::string("cpu-") + device::cpu::to_string(options.isa);
      return summary;
    });
  }

  host::TextSink text_sink() {
    return [this](const std::string&, std::string_view text, std::int64_t, bool last) { out_.text(text, last); };
  }

  void serve(host::StepRunner& runner, const std::function<Summary()>& summarize) {
    host::ServingLoop loop(serving_, runner, [this](const Completion& completion) { out_.completion(completion); });
    host::FiniteRequests source = feed(requests_);
    const bool cut = loop.run(source, interrupted_);
    Summary summary = summarize();
    loop.fill(summary);
    summary.producer = cli::producer("afore-serve");
    summary.interrupted = cut;
    summary.notes["cost"] = setup_.profile.name;
    out_.finish(summary);
    if (cut) throw Error(ErrorKind::interrupted, "interrupted");
  }

  RunFlags flags_;
  std::unique_ptr<host::LoadedModel> model_;
  cli::Setup setup_;
  std::vector<host::IncomingRequest> requests_;
  host::ServingLoopOptions serving_;
  RunOutput out_;
  const StopFlag* interrupted_;
  double cpu_share_ = 0, stretch_ = 1;
};

}  // namespace

void add_run_flags(cli::Command app, RunFlags& flags) {
  cli::add_model_source_flags(app, flags.model);
  cli::add_prompt_flags(app, flags.prompts);
  app.choice("--host", flags.host, "Workers on threads, or the whole model in one piece", {"threads", "monolithic"});
  add_worker_flags(app, flags);
  app.flag("--json", flags.json, "Completion and summary records, also on a terminal");
  app.option("--record", flags.record, "The run's whole stream into FILE (lines, or a log by the name .afl)")
      .value_name("FILE")
      .beside_stdout();
  app.flag("--timeline", flags.timeline, "Operation records in --record");
  cli::add_report(app, flags.report);
}

void run(RunFlags flags) {
  if (flags.timeline && flags.record.empty())
    throw Error(ErrorKind::usage, "--timeline has nowhere to go", "give --record FILE");
  if (flags.pace && flags.host != "threads")
    throw Error(ErrorKind::usage, "--pace is for workers", "leave out --host monolithic");
  settle_device(flags);
  Run(std::move(flags))();
}

}  // namespace afore::serve
