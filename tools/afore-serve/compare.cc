// One workload under several policies side by side: every target goes to one pipeline per policy, in lockstep, so that
// memory stays bounded and all see the same stream.
#include <fmt/format.h>

#include <memory>
#include <optional>

#include "afore-serve/feed.h"
#include "afore-serve/replay.h"
#include "afore-serve/setup.h"
#include "common/publish.h"
#include "pipeline/plan_source.h"
#include "report/table.h"
#include "util/error.h"

namespace afore::serve {
namespace {

const char* const kOverwriteHint = "--summaries never overwrites: give another name";

struct Lane {
  std::string policy;
  std::unique_ptr<pipeline::PlanSource> plans;
  std::unique_ptr<host::SimHost> host;
};

std::vector<std::string> split_policies(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string name = text.substr(begin, end - begin);
    if (name != "static" && name != "eplb" && name != "afore" && name != "ideal")
      throw Error(ErrorKind::usage, "--policies has an unknown policy '" + name + "'",
                  "choose from static,eplb,afore,ideal");
    names.push_back(name);
    begin = end + 1;
  }
  return names;
}

std::string number(const std::optional<double>& value, int digits, double scale = 1) {
  return value ? fmt::format("{:.{}f}", *value * scale, digits) : "-";
}

std::string percent_more(const std::optional<double>& value, const std::optional<double>& base) {
  if (!value || !base || *base == 0) return "-";
  return fmt::format("{:+.1f}%", (*value / *base - 1) * 100);
}

// Two tables, so that each fits a terminal. `tiles`: the gain is that of the objective, in tiles; otherwise in FFN
// time.
std::string tables(const std::vector<Summary>& rows, bool tiles) {
  using Align = report::Align;
  report::Table speed({{"policy", Align::left},
                       {"tokens/s"},
                       {"vs first"},
                       {"FFN us"},
                       {"vs first"},
                       {"exposed us"},
                       {"step ms"},
                       {"ITL p50 ms"},
                       {"ITL p95 ms"},
                       {tiles ? "tile gain captured" : "gain captured"}});
  report::Table balance({{"policy", Align::left},
                         {"tiles max/mean"},
                         {"tokens max/mean"},
                         {"tiles/bound"},
                         {"certified"},
                         {"copies/target"},
                         {"copied GiB"}});
  const Summary& first = rows.front();
  for (const Summary& s : rows) {
    const double targets = static_cast<double>(std::max<std::int64_t>(1, s.targets));
    speed.add_row({s.policy, number(s.total_token_throughput, 0),
                   percent_more(s.total_token_throughput, first.total_token_throughput), number(s.ffn_ns, 1, 1e-3),
                   percent_more(s.ffn_ns, first.ffn_ns), number(s.exposed_ns, 2, 1e-3), number(s.step_ns, 3, 1e-6),
                   number(s.itl.median, 3), number(s.itl.p95, 3),
                   number(tiles ? s.gain_captured_tiles : s.gain_captured, 3)});
    balance.add_row({s.policy, number(s.imbalance_tiles, 3), number(s.imbalance_tokens, 3),
                     number(s.load_over_bound, 3),
                     fmt::format("{:.1f}%", 100.0 * static_cast<double>(s.certified_targets) / targets),
                     fmt::format("{:.3f}", static_cast<double>(s.copies) / targets),
                     fmt::format("{:.2f}", static_cast<double>(s.copied_bytes) / (1024.0 * 1024 * 1024))});
  }
  return speed.aligned() + "\n" + balance.aligned();
}

class Comparison {
 public:
  explicit Comparison(const ServeFlags& flags)
      : flags_(flags),
        policies_(split_policies(flags.policies)),
        stream_(flags.input, cli::read_options(flags.planning.top_k, flags.allow_drop),
                cli::recover_of(flags.recover)) {}

  void run() {
    if (!flags_.summaries.empty()) cli::check_can_publish(flags_.summaries, false, kOverwriteHint);
    interrupted_ = cli::catch_interrupts();
    stream_.lines().stop_when(interrupted_);
    FeedHandler handler;
    handler.begin = [this](const std::optional<Header>& header, std::string_view) {
      refuse_aggregate(header);
      std::optional<Header> known = header ? *header : made_header(flags_);
      if (known->planner && !flags_.ignore_plans)
        throw Error(ErrorKind::usage, "the stream already has plans",
                    "give --ignore-plans to compare policies on its demand");
      known->planner.reset();
      setup_ = cli::resolve(flags_.planning, known, "static");
    };
    handler.pass = [](std::string_view, std::string_view) {};
    handler.placement = [](const PlacementRecord&) {};
    handler.target = [this](const Demand& demand, const Batch* batch, const Plan*) { on_target(demand, batch); };
    try {
      Feed(stream_, false, std::move(handler)).run();
      for (Lane& lane : lanes_) lane.host->finish();
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::interrupted) report(true);
      throw;
    }
    report(false);
  }

 private:
  void start(int experts) {
    complete_model(*setup_, experts);
    yardstick_ = std::make_unique<pipeline::Yardstick>(setup_->cluster, setup_->cost, setup_->planner.limits.objective);
    for (const std::string& policy : policies_) {
      Lane& lane = lanes_.emplace_back();
      lane.policy = policy;
      pipeline::PlannerOptions options = setup_->planner;
      options.policy = policy;
      lane.plans = pipeline::live_plans(setup_->model, setup_->cluster, setup_->cost, options,
                                        [](const pipeline::PlannedTarget&) {});
      lane.host = std::make_unique<host::SimHost>(sim_options(flags_, *setup_), *lane.plans, host::SimSink{});
    }
  }

  void on_target(const Demand& demand, const Batch* batch) {
    if (lanes_.empty()) start(static_cast<int>(demand.counts.size()));
    const pipeline::YardTimes yard = yardstick_->measure(demand);
    for (Lane& lane : lanes_) {
      if (*interrupted_ != 0) throw Error(ErrorKind::interrupted, "interrupted");
      lane.host->push(demand, batch, yard);
    }
  }

  void report(bool interrupted) {
    if (lanes_.empty()) throw Error(ErrorKind::data, stream_.lines().name() + ": the stream has no demand", "");
    std::vector<Summary> rows;
    for (const Lane& lane : lanes_) {
      Summary& summary = rows.emplace_back(lane.host->summary());
      summary.producer = cli::producer("afore-serve");
      summary.policy = lane.policy;
      summary.interrupted = interrupted;
      stream_.note_losses(summary);
      summary.notes["cost"] = setup_->profile.name;
      summary.notes["objective"] = to_string(setup_->planner.limits.objective);
    }
    std::string json;
    for (const Summary& summary : rows) json += wire::to_json(summary) + "\n";
    ByteWriter out("-");
    out.write(flags_.format == "json" ? json
                                      : heading() + tables(rows, setup_->planner.limits.objective == Objective::tiles));
    out.finish();
    if (!flags_.summaries.empty()) cli::publish(flags_.summaries, json, false, kOverwriteHint);
    for (const Lane& lane : lanes_)
      if (lane.policy == "eplb" && lane.host->summary().copies == 0 && !interrupted)
        cli::warn("eplb copied nothing after warm-up: --eplb-interval or --eplb-step-bytes left it no chance");
  }

  std::string heading() const {
    const ClusterSpec& c = setup_->cluster;
    const LayerCost& cost = setup_->cost;
    return fmt::format(
        "{}: {} attention + {} FFN workers, {} redundant slots, {} tokens per tile, {} microbatches, objective {}\n"
        "cost {}: FFN time = {:.2f} us + {:.2f} us x tiles + {:.2f} us x experts; a copy takes {:.1f} us\n",
        setup_->model.name.empty() ? "model" : setup_->model.name, c.attention_workers, c.ffn_workers,
        c.redundant_slots, c.tile_tokens, c.microbatches, to_string(setup_->planner.limits.objective),
        setup_->profile.name, static_cast<double>(cost.c0_ns) / 1e3, static_cast<double>(cost.c1_ns) / 1e3,
        static_cast<double>(cost.c2_ns) / 1e3, static_cast<double>(cost.copy_ns) / 1e3);
  }

  const ServeFlags& flags_;
  std::vector<std::string> policies_;
  cli::RecordStream stream_;
  const volatile int* interrupted_ = nullptr;
  std::optional<cli::Setup> setup_;
  std::unique_ptr<pipeline::Yardstick> yardstick_;
  std::vector<Lane> lanes_;
};

}  // namespace

void compare(const ServeFlags& flags) { Comparison(flags).run(); }

}  // namespace afore::serve
