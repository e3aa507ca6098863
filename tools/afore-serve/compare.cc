// One workload under several policies side by side: every target goes to one pipeline per policy, in lockstep, so that
// memory stays bounded and all see the same stream.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "afore-serve/compare_heading.h"
#include "afore-serve/compare_tables.h"
#include "afore-serve/feed.h"
#include "afore-serve/replay.h"
#include "afore-serve/requests.h"
#include "afore-serve/setup.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/nearest.h"
#include "common/parse.h"
#include "common/publish.h"
#include "common/report_file.h"
#include "common/signals.h"
#include "host/finite_requests.h"
#include "pipeline/plan_source.h"
#include "placement/registry.h"
#include "report/policy_page.h"
#include "util/error.h"

namespace afore::serve {
namespace {

const char* const kSummariesHint = "--summaries never overwrites: give another name";

struct Lane {
  std::string policy;
  std::unique_ptr<report::RunData> data;  // with --report
  std::unique_ptr<pipeline::PlanSource> plans;
  std::unique_ptr<host::SimHost> host;
};

std::vector<std::string> split_policies(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (placement::find_policy(name) == nullptr)
      throw Error(ErrorKind::usage, "--policies has an unknown policy '" + name + "'",
                  cli::guess_at(name, cli::split(placement::policy_names(","), ',')) + "choose from " +
                      placement::policy_names(","));
    names.push_back(name);
    begin = end + 1;
  }
  return names;
}

class Comparison {
 public:
  explicit Comparison(const ServeFlags& flags)
      : flags_(flags),
        policies_(split_policies(flags.policies)),
        stream_(flags.input, cli::read_options(flags.planning.top_k, flags.allow_drop), cli::recover_of(flags.recover),
                cli::Progress::Output::at_end) {}

  void run() {
    cli::check_report(flags_.report);
    if (!flags_.summaries.empty()) cli::check_can_publish(flags_.summaries, false, kSummariesHint);
    interrupted_ = cli::catch_interrupts();
    stream_.lines().stop_when(interrupted_);
    if (stream_.next()) {
      if (is_request_stream(stream_.header())) return serve_requests();
      refuse_request_flags(flags_.requests);
      stream_.again();
    }
    FeedHandler handler;
    handler.begin = [this](const std::optional<Header>& header, std::string_view) {
      refuse_aggregate(header);
      begin(header ? *header : made_header(flags_));
    };
    handler.pass = [](std::string_view, const Record&) {};
    handler.placement = [](const PlacementRecord&) {};
    handler.prediction = [this](const Prediction& prediction) {
      if (lanes_.empty()) early_.push_back(prediction);
      for (Lane& lane : lanes_) lane.plans->on_prediction(prediction);
      ++predictions_;
    };
    handler.target = [this](const Demand& demand, const Batch* batch, const Plan*) { on_target(demand, batch); };
    try {
      Feed(stream_, flags_.planning, false, std::move(handler)).run();
      for (Lane& lane : lanes_) lane.host->finish();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) report(lane_summaries(), true);
      throw;
    }
    warn_without_predictions();
    report(lane_summaries(), false);
  }

 private:
  void warn_without_predictions() const {
    for (const Lane& lane : lanes_) {
      pipeline::PlannerOptions options = setup_->planner;
      options.policy = lane.policy;
      cli::warn_without_predictions(flags_.planning, options, predictions_);
    }
  }

  void begin(std::optional<Header> known) {
    if (known->planner && !flags_.ignore_plans)
      throw Error(ErrorKind::usage, "the stream already has plans",
                  "give --ignore-plans to compare policies on its demand");
    known->planner.reset();
    header_ = *known;
    setup_ = resolve(flags_, known, "static");
    cli::find_initial_maps(flags_.planning, stream_, policies_, true, *setup_);
  }

  // One closed loop after another: each policy sees the same requests, and a load that reacts to its own speed.
  void serve_requests() {
    refuse_predictor(flags_.planning);
    begin(stream_.header());
    cli::plan_without_predictions(*setup_);
    host::ClosedLoopOptions options = closed_loop_options(flags_, *setup_);
    std::vector<host::IncomingRequest> requests;
    RequestFeed feed(stream_, [](std::string_view, std::string_view) {});
    for (host::IncomingRequest request; feed.next(request);) requests.push_back(std::move(request));
    std::vector<Summary> rows;
    cli::Progress progress("requests", static_cast<std::int64_t>(requests.size() * policies_.size()),
                           cli::Progress::Output::at_end);
    for (const std::string& policy : policies_) {
      options.planner.policy = policy;
      options.planner.initial = setup_->initial_maps(policy);
      datas_.push_back(make_data());
      host::ClosedLoop loop(options, request_sink(datas_.back().get()));
      std::size_t next = 0;
      host::FiniteRequests source([&](host::IncomingRequest& request) {
        if (next == requests.size()) return false;
        request = requests[next++];
        progress.add();
        return true;
      });
      const bool cut = loop.run(source, interrupted_);
      rows.push_back(loop.summary());
      rows.back().policy = policy;
      if (!cut) continue;
      report(std::move(rows), true);
      throw Error(ErrorKind::interrupted, "interrupted");
    }
    report(std::move(rows), false);
  }

  void start(int experts) {
    complete_model(*setup_, experts);
    yardstick_ = std::make_unique<pipeline::Yardstick>(setup_->cluster, setup_->cost, setup_->planner.limits.objective);
    for (const std::string& policy : policies_) {
      Lane& lane = lanes_.emplace_back();
      lane.policy = policy;
      lane.data = make_data();
      pipeline::PlannerOptions options = setup_->planner;
      options.policy = policy;
      options.initial = setup_->initial_maps(policy);
      lane.plans = pipeline::live_plans(setup_->model, setup_->cluster, setup_->cost, options,
                                        [data = lane.data.get()](const pipeline::PlannedTarget& planned) {
                                          if (data != nullptr) see(*data, planned);
                                        });
      host::SimSink sink;
      if (lane.data) sink.operation = [data = lane.data.get()](const Operation& operation) { data->add(operation); };
      lane.host = std::make_unique<host::SimHost>(sim_options(flags_, *setup_), *lane.plans, std::move(sink));
      for (const Prediction& prediction : early_) lane.plans->on_prediction(prediction);
    }
    early_.clear();
  }

  void on_target(const Demand& demand, const Batch* batch) {
    if (lanes_.empty()) start(static_cast<int>(demand.counts.size()));
    const pipeline::YardTimes yard = yardstick_->measure(demand);
    for (Lane& lane : lanes_) {
      if (*interrupted_ != 0) throw Error(ErrorKind::interrupted, "interrupted");
      if (lane.data && batch != nullptr) lane.data->add(*batch);
      if (lane.data) lane.data->add(demand);
      lane.host->push(demand, batch, yard);
    }
  }

  std::vector<Summary> lane_summaries() {
    if (lanes_.empty()) throw Error(ErrorKind::data, stream_.lines().name() + ": the stream has no demand", "");
    std::vector<Summary> rows;
    for (const Lane& lane : lanes_) {
      rows.push_back(lane.host->summary());
      rows.back().policy = lane.policy;
    }
    for (Lane& lane : lanes_) datas_.push_back(std::move(lane.data));
    return rows;
  }

  // What a policy's run shows in the report; null without one.
  std::unique_ptr<report::RunData> make_data() const {
    if (flags_.report.empty()) return nullptr;
    report::RunOptions options;
    options.timeline = false;
    auto data = std::make_unique<report::RunData>(options);
    data->add(run_header(header_, cli::gained(*setup_, false)));
    return data;
  }

  static void see(report::RunData& data, const pipeline::PlannedTarget& planned) {
    if (planned.before) data.add(*planned.before);
    data.add(planned.plan);
  }

  static host::ClosedLoopSink request_sink(report::RunData* data) {
    host::ClosedLoopSink sink;
    if (data == nullptr) return sink;
    sink.planned = [data](const Batch* batch, const Demand& demand, const pipeline::PlannedTarget& planned) {
      if (batch != nullptr) data->add(*batch);
      data->add(demand);
      see(*data, planned);
    };
    sink.replanned = [data](const pipeline::PlannedTarget& planned) { see(*data, planned); };
    sink.operation = [data](const Operation& operation) { data->add(operation); };
    sink.completion = [data](const Completion& completion) { data->add(completion); };
    return sink;
  }

  void publish_report(const std::vector<Summary>& rows) {
    if (flags_.report.empty()) return;
    std::vector<report::PolicyRun> runs;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      datas_[i]->finish();
      runs.push_back({rows[i].policy, rows[i], std::move(datas_[i])});
    }
    const Header header = run_header(header_, cli::gained(*setup_, false));
    cli::publish_report(flags_.report, report::policy_page(header, runs, view_options(flags_.requests)));
  }

  void report(std::vector<Summary> rows, bool interrupted) {
    cli::erase_progress();
    const bool tiles = setup_->planner.limits.objective == Objective::tiles;
    std::string json;
    for (Summary& summary : rows) {
      summary.producer = cli::producer("afore-serve");
      summary.interrupted = interrupted;
      stream_.note_losses(summary);
      summary.notes["cost"] = setup_->profile.name;
      summary.notes["objective"] = to_string(setup_->planner.limits.objective);
      json += wire::to_json(summary) + "\n";
    }
    ByteWriter out("-");
    if (flags_.format == "json") out.write(json);
    else
      out.write(compare_heading(flags_, *setup_) + (rows[0].injected ? request_table(rows) + "\n" : "") +
                tables(rows, tiles));
    out.finish();
    if (!flags_.summaries.empty()) cli::publish(flags_.summaries, json, false, kSummariesHint);
    publish_report(rows);
    for (const Summary& summary : rows)
      if (summary.policy == "eplb" && summary.copies == 0 && !interrupted)
        cli::warn("eplb copied nothing after warm-up: --eplb-interval or --eplb-step-bytes left it no chance");
  }

  const ServeFlags& flags_;
  std::vector<std::string> policies_;
  cli::RecordStream stream_;
  const StopFlag* interrupted_ = nullptr;
  std::optional<cli::Setup> setup_;
  std::unique_ptr<pipeline::Yardstick> yardstick_;
  std::vector<Lane> lanes_;
  std::vector<Prediction> early_;                        // before the first target
  std::int64_t predictions_ = 0;                         // in all
  Header header_;                                        // of the workload
  std::vector<std::unique_ptr<report::RunData>> datas_;  // by policy, once they are done
};

}  // namespace

void compare(const ServeFlags& flags) { Comparison(flags).run(); }

}  // namespace afore::serve
