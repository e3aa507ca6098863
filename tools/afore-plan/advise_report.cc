#include "afore-plan/advise_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "afore-plan/counted.h"
#include "afore-plan/rounded.h"
#include "common/cli.h"
#include "common/messages.h"
#include "report/table.h"
#include "wire/json_writer.h"

namespace afore::plan {
namespace {

double gib(std::int64_t copies, const cli::Setup& setup) {
  return static_cast<double>(copies * setup.cost.expert_bytes) / (1024.0 * 1024 * 1024);
}

double mean(double sum, std::int64_t count) { return count == 0 ? 0 : sum / static_cast<double>(count); }

double percent_more(double value, double base) { return base > 0 ? (value / base - 1) * 100 : 0; }

std::string describe_steps(const char* name, const std::vector<std::int64_t>& steps) {
  if (steps.empty()) return fmt::format("{}: no step", name);
  return fmt::format("{}: {}, {} to {}", name, counted(static_cast<std::int64_t>(steps.size()), "step", "steps"),
                     steps.front(), steps.back());
}

std::string describe_shift(const advice::Shift& shift) {
  constexpr double kNoticed = 0.05;
  const char* what = shift.shifted             ? "it shifted in between"
                     : shift.within > kNoticed ? "it changes inside the windows, too"
                                               : "the same workload";
  return fmt::format(
      "workload: {:.1f} % of tokens go to other experts than in the history, {:.1f} % between halves of a window: {}\n",
      shift.between * 100, shift.within * 100, what);
}

std::string heading(const Workload& work, const cli::Setup& setup) {
  const ClusterSpec& c = setup.cluster;
  return fmt::format(
      "{}; {}\n{}: {} attention + {} FFN workers, {} redundant slots, {} tokens per tile, "
      "{} microbatches, cost {}\n",
      describe_steps("history", work.history), describe_steps("evaluation", work.evaluation),
      setup.model.name.empty() ? "model" : cli::printable(setup.model.name), c.attention_workers, c.ffn_workers,
      c.redundant_slots, c.tile_tokens, c.microbatches, cli::printable(setup.profile.name));
}

std::string way_table(const Advice& advice, const Workload& work, const cli::Setup& setup) {
  report::Table table({{"evaluation", report::Align::left},
                       {"tokens/s"},
                       {"vs standing"},
                       {"FFN us"},
                       {"vs standing"},
                       {"exposed us"},
                       {"step ms"},
                       {"copies/target"},
                       {"copied GiB"}});
  const Way& base = advice.ways.front();
  const auto ffn_us = [](const Way& way) { return mean(way.evaluation.ffn_ns, way.evaluation.targets) / 1e3; };
  for (const Way& way : advice.ways)
    table.add_row({way.name, fmt::format("{:.0f}", way.tokens_per_s),
                   fmt::format("{:+.2f}%", percent_more(way.tokens_per_s, base.tokens_per_s)),
                   fmt::format("{:.1f}", ffn_us(way)), fmt::format("{:+.1f}%", percent_more(ffn_us(way), ffn_us(base))),
                   fmt::format("{:.2f}", mean(way.evaluation.exposed_ns, way.evaluation.targets) / 1e3),
                   fmt::format("{:.3f}", way.evaluation_ns / static_cast<double>(work.evaluation.size()) / 1e6),
                   fmt::format("{:.3f}", mean(static_cast<double>(way.evaluation.copies), way.evaluation.targets)),
                   fmt::format("{:.2f}", gib(way.evaluation.copies, setup))});
  return table.aligned();
}

// Where even the ideal gains too little, balance is not what the pipeline waits for, whatever FFN time does.
std::string describe_ceiling(const Advice& advice) {
  const Way &base = advice.ways.front(), &ideal = advice.ways.back();
  const double gain = percent_more(ideal.tokens_per_s, base.tokens_per_s);
  const double asked = advice.policies.front().evidence.min_gain * 100;
  if (gain >= asked) return "";
  return fmt::format(
      "with every expert everywhere, and each target by itself, less than the {:.2f} % asked: {:+.2f} % throughput, "
      "FFN time "
      "by "
      "{:+.1f} %\n",
      asked, gain, percent_more(ideal.evaluation.ffn_ns, base.evaluation.ffn_ns));
}

std::string describe_window(const char* name, const WindowSums& sums, const cli::Setup& setup) {
  return fmt::format("  {}: {}, {:.2f} GiB, {:.1f} us of stall over {}", name, counted(sums.copies, "copy", "copies"),
                     gib(sums.copies, setup), sums.exposed_ns / 1e3, counted(sums.targets, "target", "targets"));
}

std::string describe_policy(const PolicyAdvice& p, const Advice& advice, const cli::Setup& setup) {
  const Way& way = advice.ways[p.policy_way];
  std::string text =
      fmt::format("\n{}: {}\n  {}\n", p.policy, advice::to_string(p.judgement.verdict), p.judgement.reason);
  text += fmt::format(
      "  gain over standing {:+.2f} % = exact split {:+.2f}, placement of the history {:+.2f}, further "
      "copies {:+.2f}\n",
      (p.split + p.placement + p.copies) * 100, p.split * 100, p.placement * 100, p.copies * 100);
  text += describe_window("invested in the history", way.history, setup);
  if (p.payback_steps && way.history.exposed_ns > 0)
    text +=
        fmt::format(", paid back within {}",
                    counted(static_cast<std::int64_t>(std::min(1e9, std::ceil(*p.payback_steps))), "step", "steps"));
  return text + "\n" + describe_window("in the evaluation", way.evaluation, setup) + "\n";
}

class Line {
 public:
  Line() : writer_(text_) { writer_.open('{'); }
  wire::JsonWriter& writer() { return writer_; }
  void real(std::string_view key, double value) { writer_.real(key, rounded(value)); }
  void open(std::string_view key, char bracket) {
    writer_.key(key);
    writer_.open(bracket);
  }
  std::string end() {
    writer_.close('}');
    return text_ + "\n";
  }

 private:
  std::string text_;
  wire::JsonWriter writer_;
};

void add_window(Line& line, const char* key, const std::vector<std::int64_t>& steps) {
  wire::JsonWriter& json = line.writer();
  line.open(key, '{');
  json.integer("steps", static_cast<std::int64_t>(steps.size()));
  json.integer_or_null("first_step", steps.empty() ? std::nullopt : std::optional(steps.front()));
  json.integer_or_null("last_step", steps.empty() ? std::nullopt : std::optional(steps.back()));
  json.integer("blocks", advice::blocks_of(static_cast<std::int64_t>(steps.size())));
  json.close('}');
}

void add_way(Line& line, const Way& way, const Way& base, const Workload& work, const cli::Setup& setup) {
  wire::JsonWriter& json = line.writer();
  json.separate();
  json.open('{');
  json.string("way", way.name);
  json.string_or_null("policy", way.policy);
  line.real("tokens_per_s", way.tokens_per_s);
  line.real("vs_standing_percent", percent_more(way.tokens_per_s, base.tokens_per_s));
  line.real("step_ns", way.evaluation_ns / static_cast<double>(work.evaluation.size()));
  line.real("ffn_ns", mean(way.evaluation.ffn_ns, way.evaluation.targets));
  line.real("exposed_ns", mean(way.evaluation.exposed_ns, way.evaluation.targets));
  json.integer("exposed_targets", way.evaluation.exposed_targets);
  json.integer("targets", way.evaluation.targets);
  json.integer("copies", way.evaluation.copies);
  json.integer("copied_bytes", way.evaluation.copies * setup.cost.expert_bytes);
  json.integer("history_copies", way.history.copies);
  json.integer("history_copied_bytes", way.history.copies * setup.cost.expert_bytes);
  line.real("history_stall_ns", way.history.exposed_ns);
  json.close('}');
}

void add_interval(Line& line, const char* key, const std::optional<advice::Interval>& interval) {
  wire::JsonWriter& json = line.writer();
  if (!interval) {
    json.key(key);
    json.out() += "null";
    return;
  }
  line.open(key, '{');
  line.real("gain_percent", interval->gain * 100);
  line.real("low_percent", interval->low * 100);
  line.real("high_percent", interval->high * 100);
  json.integer("blocks", interval->blocks);
  json.integer("blocks_better", interval->better);
  line.real("correlation", interval->correlation);
  json.close('}');
}

void add_policy(Line& line, const PolicyAdvice& p) {
  wire::JsonWriter& json = line.writer();
  json.separate();
  json.open('{');
  json.string("policy", p.policy);
  json.string("verdict", advice::to_string(p.judgement.verdict));
  json.string("reason", p.judgement.reason);
  line.real("split_percent", p.split * 100);
  line.real("placement_percent", p.placement * 100);
  line.real("copies_percent", p.copies * 100);
  json.real_or_null("payback_steps", p.payback_steps ? std::optional(rounded(*p.payback_steps)) : std::nullopt);
  add_interval(line, "evaluation", p.evidence.evaluation);
  add_interval(line, "history", p.evidence.history);
  json.close('}');
}

}  // namespace

std::string advice_text(const Advice& advice, const Workload& work, const cli::Setup& setup) {
  std::string text = fmt::format("verdict: {}\n", advice::to_string(advice.judgement.verdict));
  if (advice.ways.empty()) return text + "  " + advice.judgement.reason + "\n\n" + heading(work, setup);
  text += fmt::format("\n{}{}\n{}", heading(work, setup), describe_shift(advice.shift), way_table(advice, work, setup));
  text += describe_ceiling(advice);
  for (const PolicyAdvice& p : advice.policies) text += describe_policy(p, advice, setup);
  return text;
}

std::string advice_json(const Advice& advice, const Workload& work, const cli::Setup& setup) {
  Line line;
  wire::JsonWriter& json = line.writer();
  json.string("kind", "advice");
  json.integer("v", kRecordVersion);
  json.string("producer", cli::producer("afore-plan"));
  json.string("verdict", advice::to_string(advice.judgement.verdict));
  json.string_or_null("policy", advice.policy);
  json.string("reason", advice.judgement.reason);
  line.real("confidence", advice.confidence);
  add_window(line, "history", work.history);
  add_window(line, "evaluation", work.evaluation);
  line.open("shift", '{');
  line.real("between", advice.shift.between);
  line.real("within", advice.shift.within);
  json.boolean("shifted", advice.shift.shifted);
  json.close('}');
  json.string("cost", setup.profile.name);
  line.open("ways", '[');
  for (const Way& way : advice.ways) add_way(line, way, advice.ways.front(), work, setup);
  json.close(']');
  line.open("policies", '[');
  for (const PolicyAdvice& p : advice.policies) add_policy(line, p);
  json.close(']');
  return line.end();
}

}  // namespace afore::plan
