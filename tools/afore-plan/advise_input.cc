#include "afore-plan/advise_input.h"

#include <fmt/format.h>

#include <limits>
#include <set>

#include "common/messages.h"
#include "common/record_stream.h"
#include "util/error.h"

namespace afore::plan {
namespace {

class Reader {
 public:
  Reader(const AdviseFlags& flags, cli::Setup& setup)
      : flags_(flags),
        setup_(setup),
        stream_(flags.input, cli::read_options(flags.planning.top_k, flags.allow_drop), cli::recover_of(flags.recover),
                cli::Progress::Output::at_end) {}

  Workload read();

 private:
  void begin(std::optional<Header> header);
  bool on_demand(const Demand& demand);
  void on_plan_record(const char* kind) const;
  std::int64_t wanted_steps() const {
    return flags_.history_steps == kAbsent || flags_.evaluate_steps == kAbsent
               ? std::numeric_limits<std::int64_t>::max()
               : flags_.history_steps + flags_.evaluate_steps;
  }
  void cut();

  const AdviseFlags& flags_;
  cli::Setup& setup_;
  cli::RecordStream stream_;
  Workload work_;
  std::set<std::int64_t> steps_;
  std::map<int, int> newest_batch_;       // by microbatch, index into batches
  std::map<int, std::int64_t> of_layer_;  // targets so far
  bool begun_ = false, saw_request_ = false;
};

void Reader::begin(std::optional<Header> header) {
  begun_ = true;
  if (header && header->source == "counts")
    throw Error(ErrorKind::data, "the stream is an aggregate of counts, not a sequence of targets",
                "sample targets from it: afore-trace import --from sglang-count ... --sample-steps N --tokens B");
  if (header && header->planner) {
    on_plan_record("header of a planned stream");
    header->planner.reset();
  }
  setup_ = cli::resolve(flags_.planning, header, "static");
  cli::plan_without_predictions(setup_);
}

void Reader::on_plan_record(const char* kind) const {
  if (flags_.replan) return;
  throw Error(ErrorKind::usage, fmt::format("{}: the input already has plans (a {})", work_.name, kind),
              "give --replan to drop them and plan anew");
}

// False once the windows are full.
bool Reader::on_demand(const Demand& demand) {
  const Target& target = demand.target;
  if (demand.phase != Phase::warmup) {
    const bool is_new = !steps_.contains(target.step);
    if (is_new && static_cast<std::int64_t>(steps_.size()) == wanted_steps() && target.step > *steps_.rbegin())
      return false;
    steps_.insert(target.step);
  }
  if (setup_.model.experts == kAbsent) setup_.model.experts = static_cast<std::int64_t>(demand.counts.size());
  if (setup_.model.top_k == kAbsent)
    throw Error(ErrorKind::usage, "the number of experts per token is not known", "give --top-k N");
  ++of_layer_[target.layer];
  const auto batch = newest_batch_.find(target.microbatch);
  const bool matches = batch != newest_batch_.end() && work_.batches[batch->second].step == target.step;
  work_.batch_of.push_back(matches ? batch->second : -1);
  work_.targets.push_back(demand);
  return true;
}

Workload Reader::read() {
  work_.name = stream_.lines().name();
  while (stream_.next()) {
    const Record& record = stream_.record();
    const auto* header = std::get_if<Header>(&record);
    if (!begun_) begin(header != nullptr ? std::optional<Header>(*header) : std::nullopt);
    if (const auto* demand = std::get_if<Demand>(&record)) {
      if (!on_demand(*demand)) break;
    } else if (const auto* batch = std::get_if<Batch>(&record)) {
      newest_batch_[batch->microbatch] = static_cast<int>(work_.batches.size());
      work_.batches.push_back(*batch);
    } else if (const auto* placement = std::get_if<PlacementRecord>(&record)) {
      // A planned stream has a layer's first map between its first demand and that one's plan.
      if (of_layer_[placement->layer] <= 1) work_.placements.try_emplace(placement->layer, *placement);
    } else if (std::holds_alternative<Plan>(record)) {
      on_plan_record("plan");
    } else if (std::holds_alternative<RequestRecord>(record)) {
      saw_request_ = true;
    }
  }
  if (work_.targets.empty())
    throw Error(ErrorKind::data,
                work_.name + (saw_request_ ? ": the stream has requests and no demand" : ": the stream has no demand"),
                saw_request_ ? "serve them: afore-serve replay --policy static makes their demand"
                             : "advice needs demand records: afore-trace import or synth makes them");
  cut();
  return std::move(work_);
}

// Which steps are history and which evaluation; targets behind both are dropped.
void Reader::cut() {
  const std::vector<std::int64_t> steps(steps_.begin(), steps_.end());
  const auto count = static_cast<std::int64_t>(steps.size());
  const std::int64_t history = flags_.history_steps == kAbsent ? count / 2 : flags_.history_steps;
  if (flags_.history_steps != kAbsent && history >= count)
    throw Error(ErrorKind::usage,
                fmt::format("{}: --history-steps {} leaves nothing to evaluate on: the stream has {} {} after warm-up",
                            work_.name, history, count, count == 1 ? "step" : "steps"),
                "give fewer, or record more");
  std::int64_t evaluation = count - history;
  if (flags_.evaluate_steps != kAbsent && flags_.evaluate_steps > evaluation)
    cli::warn(fmt::format("{}: {} steps follow the history, not the {} of --evaluate-steps", work_.name, evaluation,
                          flags_.evaluate_steps));
  if (flags_.evaluate_steps != kAbsent) evaluation = std::min(evaluation, flags_.evaluate_steps);
  work_.history.assign(steps.begin(), steps.begin() + history);
  work_.evaluation.assign(steps.begin() + history, steps.begin() + history + evaluation);
  if (work_.evaluation.empty()) return;
  const std::int64_t last = work_.evaluation.back();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < work_.targets.size(); ++i) {
    if (work_.targets[i].target.step > last) continue;
    if (kept != i) {
      work_.targets[kept] = std::move(work_.targets[i]);
      work_.batch_of[kept] = work_.batch_of[i];
    }
    ++kept;
  }
  work_.targets.resize(kept);
  work_.batch_of.resize(kept);
}

}  // namespace

Workload read_workload(const AdviseFlags& flags, cli::Setup& setup) { return Reader(flags, setup).read(); }

}  // namespace afore::plan
