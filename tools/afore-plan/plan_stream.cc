#include "afore-plan/plan_stream.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <variant>

#include "afore-plan/explain.h"
#include "common/cli.h"
#include "common/predict_stage.h"
#include "common/record_stream.h"
#include "common/signals.h"
#include "pipeline/latency.h"
#include "pipeline/planner.h"
#include "pipeline/run_metrics.h"
#include "util/error.h"

namespace afore::plan {
namespace {

class PlanRun {
 public:
  explicit PlanRun(const PlanFlags& flags)
      : flags_(flags),
        stream_(flags.input, cli::read_options(flags.planning.top_k, flags.allow_drop), cli::recover_of(flags.recover)),
        input_(stream_, {flags.planning.predictor, flags.planning.layers_ahead}),
        out_("-") {
    stream_.lines().on_wait([this] { out_.flush(); });
  }

  void run();

 private:
  void on_header(const Header& header);
  void begin(const std::optional<Header>& header);
  void on_demand(const Demand& demand);
  template <class Work>
  auto at_line(const Work& work);
  void on_planned_record(const char* kind);
  void pass(std::string_view kind, std::string_view raw) {
    if (wants(kind)) out_.write_line(raw);
  }
  bool wants(std::string_view kind) const { return explain_ ? false : flags_.only.empty() || flags_.only == kind; }
  void finish(bool interrupted);

  const PlanFlags& flags_;
  cli::RecordStream stream_;
  cli::PredictStage input_;  // the stream, with what --predictor says
  ByteWriter out_;
  std::string line_;  // of a plan
  std::optional<Target> explain_;
  std::optional<cli::Setup> setup_;
  std::unique_ptr<pipeline::Planner> planner_;
  std::unique_ptr<pipeline::RunMetrics> metrics_;
  std::unique_ptr<pipeline::Yardstick> yardstick_;
  pipeline::Latencies plan_ns_;
  bool explained_ = false;
  bool saw_request_ = false, saw_demand_ = false;
};

void PlanRun::begin(const std::optional<Header>& header) {
  setup_ = cli::resolve(flags_.planning, header, "afore");
  cli::find_initial_maps(flags_.planning, stream_, {&setup_->planner.policy, 1}, flags_.replan, *setup_);
  planner_ = std::make_unique<pipeline::Planner>(setup_->model, setup_->cluster, setup_->cost, setup_->planner);
  if (flags_.summary) {
    metrics_ = std::make_unique<pipeline::RunMetrics>(setup_->cluster, setup_->cost);
    yardstick_ = std::make_unique<pipeline::Yardstick>(setup_->cluster, setup_->cost, setup_->planner.limits.objective);
  }
}

void PlanRun::on_header(const Header& header) {
  if (setup_) {  // a repeated equal header
    pass("header", input_.raw());
    return;
  }
  std::string line(input_.raw());
  std::optional<Header> known = header;
  if (header.planner) {
    on_planned_record("header of a planned stream");
    line = wire::without_planner(line);
    known->planner.reset();
  }
  begin(known);
  if (wants("header"))
    out_.write_line(wire::extend_header(line, cli::gained(*setup_, true), cli::producer("afore-plan")));
}

// Plans and what belongs to them: refused, or dropped to be made anew.
void PlanRun::on_planned_record(const char* kind) {
  if (flags_.replan) return;
  throw Error(
      ErrorKind::usage,
      fmt::format("{}:{}: the input already has plans (a {})", stream_.lines().name(), stream_.line_number(), kind),
      "give --replan to drop them and plan anew");
}

// The planner's refusals, with the line they are about.
template <class Work>
auto PlanRun::at_line(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    throw Error(error.kind(), fmt::format("{}:{}: {}", stream_.lines().name(), stream_.line_number(), error.what()),
                error.hint());
  }
}

void PlanRun::on_demand(const Demand& demand) {
  const auto start = std::chrono::steady_clock::now();
  std::optional<LayerPlacement> before;
  if (explain_ && demand.target == *explain_) before = planner_->placement(demand.target.layer);
  const pipeline::PlannedTarget planned = at_line([&] { return planner_->plan(demand); });
  if (flags_.timing)
    plan_ns_.add(std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count());
  pass("demand", input_.raw());  // only now: a demand that cannot be planned is refused, not passed on
  if (planned.before && wants("placement")) out_.write_line(wire::to_json(*planned.before));
  if (wants("plan")) {
    line_.clear();
    wire::append_json(line_, planned.plan);
    out_.write_line(line_);
  }
  if (planned.completed && wants("placement")) out_.write_line(wire::to_json(*planned.completed));
  if (metrics_) {
    metrics_->count_plan(*pipeline::make_published(planned.plan, demand, planned.plan.seq, setup_->cluster.tile_tokens,
                                                   static_cast<int>(setup_->cluster.ffn_workers),
                                                   planner_->placement(demand.target.layer)),
                         yardstick_->measure(demand));
    if (demand.phase != Phase::warmup) metrics_->on_predicted(planned.plan);
  }
  if (before) {
    out_.write(explain(planned.plan, demand, *before, *setup_));
    explained_ = true;
  }
}

void PlanRun::run() {
  if (!flags_.explain.empty()) explain_ = parse_target(flags_.explain);
  if (flags_.summary) stream_.lines().stop_when(cli::catch_interrupts());
  try {
    while (!explained_ && input_.next()) {
      const Record& record = input_.record();
      if (const auto* header = std::get_if<Header>(&record)) {
        on_header(*header);
        continue;
      }
      if (!setup_) {
        // A stream without a header: flags must do, and a header goes first.
        Header made;
        made.producer = cli::producer("afore-plan");
        made.model.top_k = flags_.planning.top_k;
        if (const auto* demand = std::get_if<Demand>(&record))
          made.model.experts = static_cast<std::int64_t>(demand->counts.size());
        begin(made);
        const Header rest = cli::gained(*setup_, true);
        made.model = rest.model;
        made.cluster = rest.cluster;
        made.planner = rest.planner;
        if (wants("header")) out_.write_line(wire::to_json(made));
      }
      saw_request_ = saw_request_ || std::holds_alternative<RequestRecord>(record);
      if (const auto* demand = std::get_if<Demand>(&record)) {
        saw_demand_ = true;
        on_demand(*demand);
      } else if (std::holds_alternative<Plan>(record)) {
        on_planned_record("plan");
      } else if (std::holds_alternative<Observed>(record)) {
        on_planned_record("observed record");
      } else if (const auto* prediction = std::get_if<Prediction>(&record)) {
        at_line([&] { planner_->on_prediction(*prediction); });
        pass("prediction", input_.raw());
      } else if (const auto* placement = std::get_if<PlacementRecord>(&record)) {
        if (flags_.replan) continue;
        if (planner_->set_placement(*placement)) pass("placement", input_.raw());
      } else {
        pass(cli::kind_of(record), input_.raw());
      }
    }
  } catch (const Error& error) {
    // Whole lines made before the bad one are good.
    if (error.kind() == ErrorKind::interrupted) finish(true);
    else if (error.kind() != ErrorKind::io) out_.flush();
    throw;
  }
  if (saw_request_ && !saw_demand_) {
    out_.flush();
    throw Error(ErrorKind::data, stream_.lines().name() + ": the stream has requests and no demand to plan",
                "serve them: afore-serve replay --policy afore makes their demand and plans it");
  }
  if (explain_ && !explained_)
    throw Error(ErrorKind::usage, "the stream has no target " + flags_.explain,
                "a target is STEP:LAYER:MICROBATCH, layers absolute");
  finish(false);
}

void PlanRun::finish(bool interrupted) {
  if (planner_ && setup_) cli::warn_without_predictions(flags_.planning, setup_->planner, planner_->predictions_used());
  if (flags_.summary) {
    Summary summary;
    if (metrics_) summary = metrics_->summary();
    summary.producer = cli::producer("afore-plan");
    if (setup_) summary.policy = setup_->planner.policy;
    summary.host = "stream";
    summary.device = "none";
    summary.interrupted = interrupted;
    stream_.note_losses(summary);
    summary.notes["values"] = "predicted";  // nothing ran: times are the plans' own claims
    if (flags_.timing) summary.plan_ns = plan_ns_.plan_time();
    out_.write_line(wire::to_json(summary));
  }
  out_.finish();
}

}  // namespace

void plan_stream(const PlanFlags& flags) { PlanRun(flags).run(); }

}  // namespace afore::plan
