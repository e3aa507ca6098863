#include "afore-serve/replay.h"

#include <optional>

#include "afore-serve/feed.h"
#include "afore-serve/requests.h"
#include "afore-serve/setup.h"
#include "common/cli.h"
#include "common/report_file.h"
#include "common/signals.h"
#include "pipeline/plan_source.h"
#include "pipeline/planner.h"
#include "util/error.h"

namespace afore::serve {
namespace {

class Replay {
 public:
  explicit Replay(const ServeFlags& flags)
      : flags_(flags),
        stream_(flags.input, cli::read_options(flags.planning.top_k, flags.allow_drop), cli::recover_of(flags.recover)),
        out_("-") {
    stream_.lines().on_wait([this] { out_.flush(); });
    if (!flags.report.empty()) report_ = std::make_unique<report::RunData>();
  }

  void run();

 private:
  void begin(const std::optional<Header>& header, std::string_view raw);
  void on_target(const Demand& demand, const Batch* batch, const Plan* plan);
  void start(int experts, const Plan* first);
  void set_placement(const PlacementRecord& record);
  void predict(const Prediction& prediction) {
    if (live_) live_->on_prediction(prediction);
    else planner_->on_prediction(prediction);
  }
  void emit_plan(const pipeline::PlannedTarget& planned);
  void finish(bool interrupted);
  bool serve_requests();
  bool plans_anew() const { return !flags_.planning.policy.empty(); }
  bool wants(std::string_view kind) const { return flags_.only.empty() || flags_.only == kind; }
  template <class R>
  void emit(const char* kind, const R& record) {
    if (wants(kind)) out_.write_line(wire::to_json(record));
    if constexpr (requires { report_->add(record); })
      if (report_) report_->add(record);
  }
  void publish_report();

  const ServeFlags& flags_;
  cli::RecordStream stream_;
  ByteWriter out_;
  const StopFlag* interrupted_ = nullptr;
  std::optional<Header> header_;
  std::optional<cli::Setup> setup_;
  std::unique_ptr<pipeline::Planner> planner_;  // with --policy
  std::unique_ptr<pipeline::EmbeddedPlans> plans_;
  std::unique_ptr<pipeline::PlanSource> live_;  // instead of both, where faults may make plans void
  std::unique_ptr<host::SimHost> host_;
  std::unique_ptr<pipeline::Yardstick> yardstick_;
  std::vector<PlacementRecord> early_;  // before the first target
  std::vector<Prediction> early_predictions_;
  std::unique_ptr<report::RunData> report_;  // with --report
  bool saw_plan_ = false, saw_request_ = false;
};

void Replay::begin(const std::optional<Header>& header, std::string_view raw) {
  refuse_aggregate(header);
  header_ = header ? *header : made_header(flags_);
  std::optional<Header> known = header_;
  if (flags_.ignore_plans) known->planner.reset();
  setup_ = resolve(flags_, known, "none");
  if (!flags_.planning.policy.empty() && header_->planner && !flags_.ignore_plans)
    throw Error(ErrorKind::usage, "--policy on a stream that already has plans", "give --ignore-plans to plan anew");
  const std::string first(raw);  // looking ahead reads on
  if (plans_anew())
    cli::find_initial_maps(flags_.planning, stream_, {&setup_->planner.policy, 1}, flags_.ignore_plans, *setup_);
  Header gain = cli::gained(*setup_, plans_anew());
  if (report_) {
    Header input = *header_;
    if (plans_anew()) input.planner.reset();
    if (!header) input.via.clear();
    report_->add(run_header(input, gain));
  }
  if (!wants("header")) return;
  if (header) {
    const std::string line = plans_anew() ? wire::without_planner(first) : first;
    out_.write_line(wire::extend_header(line, gain, cli::producer("afore-serve")));
  } else {
    gain.producer = header_->producer;
    out_.write_line(wire::to_json(gain));
  }
}

// The pipeline exists from the first target on, when the number of experts is known in any case.
void Replay::start(int experts, const Plan* first) {
  complete_model(*setup_, experts);
  plans_ = std::make_unique<pipeline::EmbeddedPlans>(setup_->model, setup_->cluster, setup_->cost);
  host::SimOptions options = sim_options(flags_, *setup_);
  if (plans_anew() && !options.faults.empty())
    live_ = pipeline::live_plans(setup_->model, setup_->cluster, setup_->cost, setup_->planner,
                                 [this](const pipeline::PlannedTarget& planned) { emit_plan(planned); });
  else if (plans_anew())
    planner_ = std::make_unique<pipeline::Planner>(setup_->model, setup_->cluster, setup_->cost, setup_->planner);
  // Plans of the stream are measured by the objective they were made for.
  const bool planned = !plans_anew() && !flags_.ignore_plans && header_->planner;
  yardstick_ = std::make_unique<pipeline::Yardstick>(
      setup_->cluster, setup_->cost, planned ? header_->planner->objective : setup_->planner.limits.objective);
  if (setup_->planner.initial)
    for (const auto& [layer, record] : *setup_->planner.initial) plans_->on_placement(record);
  for (const PlacementRecord& record : early_) set_placement(record);
  for (const Prediction& prediction : early_predictions_) predict(prediction);
  early_predictions_.clear();
  host::SimSink sink;
  sink.observed = [this](const Observed& observed) {
    if (saw_plan_) emit("observed", observed);
  };
  if (flags_.timeline) sink.operation = [this](const Operation& operation) { emit("operation", operation); };
  else if (report_) sink.operation = [this](const Operation& operation) { report_->add(operation); };
  sink.membership = [this](const Membership& membership) { emit("membership", membership); };
  // A stream planned without overlap is run without it: its plans say so.
  if (first != nullptr && first->window_source == "no_overlap") options.overlap = false;
  host_ = std::make_unique<host::SimHost>(options, live_ ? *live_ : *plans_, std::move(sink));
}

void Replay::set_placement(const PlacementRecord& record) {
  (live_ ? *live_ : *plans_).on_placement(record);
  if (planner_) planner_->set_placement(record);
}

void Replay::emit_plan(const pipeline::PlannedTarget& planned) {
  if (planned.before) emit("placement", *planned.before);
  emit("plan", planned.plan);
  if (planned.completed) emit("placement", *planned.completed);
  saw_plan_ = true;
}

// With --policy the plan is made here, right behind its demand: planning depends on the stream's order alone. Under
// faults it is made when the scheduler makes it, and again after a loss.
void Replay::on_target(const Demand& demand, const Batch* batch, const Plan* plan) {
  if (*interrupted_ != 0) throw Error(ErrorKind::interrupted, "interrupted");
  if (!host_) start(static_cast<int>(demand.counts.size()), plan);
  pipeline::PlannedTarget planned;
  if (planner_) {
    planned = planner_->plan(demand);
    emit_plan(planned);
    plan = &planned.plan;
  }
  if (plan != nullptr) saw_plan_ = true;
  if (!live_) plans_->push(demand, plan);
  host_->push(demand, batch, yardstick_->measure(demand));
}

// True when the stream was one of requests, and they were served.
bool Replay::serve_requests() {
  try {
    if (!stream_.next()) return false;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) finish(true);
    throw;
  }
  if (is_request_stream(stream_.header())) {
    // Also of a run that ends early: what was done before stands.
    try {
      replay_requests(flags_, stream_, out_, report_.get(), interrupted_);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) publish_report();
      throw;
    }
    publish_report();
    return true;
  }
  stream_.again();
  refuse_request_flags(flags_.requests);
  return false;
}

void Replay::run() {
  cli::check_report(flags_.report);
  interrupted_ = cli::catch_interrupts();
  stream_.lines().stop_when(interrupted_);
  if (serve_requests()) return;
  FeedHandler handler;
  handler.begin = [this](const std::optional<Header>& header, std::string_view raw) { begin(header, raw); };
  handler.pass = [this](std::string_view raw, const Record& record) {
    const std::string_view kind = cli::kind_of(record);
    if (kind == "plan" && plans_anew() && !flags_.ignore_plans)
      throw Error(ErrorKind::usage, "--policy on a stream that already has plans", "give --ignore-plans to plan anew");
    saw_request_ = saw_request_ || kind == "request";
    const bool dropped = flags_.ignore_plans && (kind == "plan" || kind == "placement" || kind == "observed");
    if (wants(kind) && !dropped) out_.write_line(raw);
    if (report_ && !dropped && kind != "header") report_->see(record);
  };
  handler.placement = [this](const PlacementRecord& record) {
    if (flags_.ignore_plans) return;
    if (plans_) set_placement(record);
    else early_.push_back(record);
  };
  handler.prediction = [this](const Prediction& prediction) {
    if (!plans_anew()) return;
    if (planner_ || live_) predict(prediction);
    else early_predictions_.push_back(prediction);
  };
  handler.target = [this](const Demand& demand, const Batch* batch, const Plan* plan) {
    on_target(demand, batch, plan);
  };
  try {
    Feed(stream_, flags_.planning, !plans_anew() && !flags_.ignore_plans, std::move(handler)).run();
    if (host_) host_->finish();
    else if (saw_request_)
      throw Error(ErrorKind::data, stream_.lines().name() + ": the stream has requests, plans and no demand",
                  "serve requests before they are planned: afore-serve replay --policy P");
  } catch (const Error& error) {
    // What was done before stands: results of whole targets, and on an interrupt a marked summary.
    if (error.kind() == ErrorKind::interrupted) finish(true);
    else if (error.kind() != ErrorKind::io) out_.flush();
    throw;
  }
  finish(false);
}

void Replay::finish(bool interrupted) {
  if (planner_) cli::warn_without_predictions(flags_.planning, setup_->planner, planner_->predictions_used());
  Summary summary;
  if (host_) summary = host_->summary();
  summary.producer = cli::producer("afore-serve");
  summary.host = "sim";
  summary.device = "cost-model";
  summary.interrupted = interrupted;
  stream_.note_losses(summary);
  if (setup_) summary.notes["cost"] = setup_->profile.name;
  emit("summary", summary);
  out_.finish();
  publish_report();
}

void Replay::publish_report() {
  if (!report_) return;
  report_->finish();
  cli::publish_report(flags_.report, report::run_page(*report_, report::kViews, view_options(flags_.requests)));
}

}  // namespace

void replay(const ServeFlags& flags) { Replay(flags).run(); }

}  // namespace afore::serve
