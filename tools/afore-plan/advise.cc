#include "afore-plan/advise.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "afore-plan/advise_report.h"
#include "common/cli.h"
#include "common/nearest.h"
#include "common/parse.h"
#include "common/record_stream.h"
#include "placement/registry.h"
#include "util/error.h"

namespace afore::plan {
namespace {

std::vector<std::string> policies_of(const AdviseFlags& flags) {
  std::vector<std::string> names;
  for (std::size_t begin = 0; begin <= flags.policies.size();) {
    const std::size_t end = std::min(flags.policies.find(',', begin), flags.policies.size());
    const std::string name = flags.policies.substr(begin, end - begin);
    const placement::PolicyInfo* info = placement::find_policy(name);
    if (info == nullptr)
      throw Error(ErrorKind::usage, "--policies has an unknown policy '" + name + "'",
                  cli::guess_at(name, cli::split(placement::policy_names(","), ',')) + "choose from " +
                      placement::policy_names(","));
    if (info->make != nullptr && info->make({})->is_virtual())
      throw Error(ErrorKind::usage, "--policies: " + name + " is a yardstick and cannot be run",
                  "it is a row of the table in any case");
    if (std::find(names.begin(), names.end(), name) != names.end())
      throw Error(ErrorKind::usage, "--policies has " + name + " twice");
    names.push_back(name);
    begin = end + 1;
  }
  return names;
}

void check_percent(const char* flag, double value, double min, double max) {
  if (!(value >= min && value <= max))
    throw Error(ErrorKind::usage, fmt::format("{}: {} is not between {} and {}", flag, value, min, max));
}

advice::Shift measure_shift(const Workload& work) {
  advice::ShiftMeter meter;
  const std::int64_t history_middle = work.history[work.history.size() / 2];
  const std::int64_t evaluation_middle = work.evaluation[work.evaluation.size() / 2];
  for (const Demand& demand : work.targets) {
    const std::int64_t step = demand.target.step;
    if (demand.phase == Phase::warmup) continue;
    const int half = work.in_evaluation(step) ? (step < evaluation_middle ? 2 : 3) : (step < history_middle ? 0 : 1);
    meter.add(half, demand.target.layer, demand.counts);
  }
  return meter.measure();
}

std::optional<advice::Interval> interval(const std::vector<double>& base, const std::vector<double>& other,
                                         double confidence) {
  if (base.size() < 3) return std::nullopt;
  return advice::gain_interval(base, other, confidence);
}

PolicyAdvice advise_on(const std::string& policy, std::size_t held_way, const Advice& advice, const Workload& work,
                       double min_gain) {
  const std::vector<Way>& ways = advice.ways;
  const Way& split = ways[1];
  PolicyAdvice found;
  found.policy = policy;
  found.held_way = held_way;
  found.policy_way = held_way + 1;
  const Way& mine = ways[found.policy_way];
  const double standing_ns = ways[0].evaluation_ns;
  found.split = standing_ns / split.evaluation_ns - 1;
  found.placement = standing_ns / ways[held_way].evaluation_ns - standing_ns / split.evaluation_ns;
  found.copies = standing_ns / mine.evaluation_ns - standing_ns / ways[held_way].evaluation_ns;
  const double saved_ns = (split.evaluation_ns - mine.evaluation_ns) / static_cast<double>(work.evaluation.size());
  if (saved_ns > 0) found.payback_steps = mine.history.exposed_ns / saved_ns;
  advice::Evidence& evidence = found.evidence;
  evidence.history_steps = static_cast<std::int64_t>(work.history.size());
  evidence.evaluation_steps = static_cast<std::int64_t>(work.evaluation.size());
  evidence.history = interval(split.history_blocks_ns, mine.history_blocks_ns, advice.confidence);
  evidence.evaluation = interval(split.evaluation_blocks_ns, mine.evaluation_blocks_ns, advice.confidence);
  evidence.shift = advice.shift;
  evidence.min_gain = min_gain;
  evidence.copies = mine.history.copies + mine.evaluation.copies;
  found.judgement = advice::judge(evidence);
  return found;
}

// One policy that helps is enough; without one, one that is not known to be useless keeps the question open.
void judge_all(Advice& advice) {
  const auto rank = [](const PolicyAdvice& p) {
    switch (p.judgement.verdict) {
      case advice::Verdict::migrate: return 2;
      case advice::Verdict::not_enough_evidence: return 1;
      case advice::Verdict::do_nothing: return 0;
    }
    return 0;
  };
  const auto gain = [](const PolicyAdvice& p) { return p.evidence.evaluation ? p.evidence.evaluation->gain : 0; };
  const PolicyAdvice* best = &advice.policies.front();
  for (const PolicyAdvice& p : advice.policies)
    if (std::pair(rank(p), gain(p)) > std::pair(rank(*best), gain(*best))) best = &p;
  advice.judgement = best->judgement;
  advice.policy = best->policy;
}

Advice find_advice(const AdviseFlags& flags, const Workload& work, const cli::Setup& setup,
                   const std::vector<std::string>& policies) {
  Advice advice;
  // Bonferroni: the chance that any of the intervals misses is what was asked for, however many policies are tried.
  const double doubt = 1 - flags.confidence_percent / 100;
  advice.confidence = 1 - doubt / static_cast<double>(policies.size());
  if (work.history.empty() || work.evaluation.empty()) {
    advice::Evidence evidence;
    evidence.history_steps = static_cast<std::int64_t>(work.history.size());
    evidence.evaluation_steps = static_cast<std::int64_t>(work.evaluation.size());
    advice.judgement = advice::judge(evidence);
    return advice;
  }
  advice.shift = measure_shift(work);
  advice.ways = simulate_ways(work, setup, flags, policies);
  for (std::size_t i = 0; i < policies.size(); ++i)
    advice.policies.push_back(advise_on(policies[i], 2 + 2 * i, advice, work, flags.min_gain_percent / 100));
  judge_all(advice);
  return advice;
}

void run_advise(const AdviseFlags& flags) {
  const std::vector<std::string> policies = policies_of(flags);
  check_percent("--min-gain", flags.min_gain_percent, 0, 1000);
  check_percent("--confidence", flags.confidence_percent, 50, 99.9);
  cli::Setup setup;
  const Workload work = read_workload(flags, setup);
  const Advice advice = find_advice(flags, work, setup, policies);
  ByteWriter out("-");
  out.write(flags.json ? advice_json(advice, work, setup) : advice_text(advice, work, setup));
  out.finish();
  if (advice.judgement.verdict != advice::Verdict::migrate) throw Error(ErrorKind::answer_no, "");
}

}  // namespace

void add_advise(cli::Command app) {
  cli::Command command = app.command(
      "advise",
      "Will moving expert replicas help, on this data? Plans on one window of the stream, judges on a later one, in "
      "the\n"
      "simulator. Answers migrate (exit 0), do nothing or not enough evidence (exit 1). Judged is throughput with "
      "copies\n"
      "against an exact split without any: migrate where the gain is --min-gain or more and its interval above 0; not\n"
      "enough evidence where a window has under 10 steps, the interval covers both no gain and more than --min-gain, "
      "or\n"
      "history and evaluation contradict each other and the workload shifted in between; do nothing else. Intervals "
      "come\n"
      "from differences over disjoint blocks of steps (docs/advice.md). The stream is held in memory.");
  const auto o = std::make_shared<AdviseFlags>();
  command.option("STREAM", o->input, "Stream to read, - for standard input").show_default();
  cli::add_recover(command, o->recover);
  command.option("--policies", o->policies, "Policies to judge, separated by commas").show_default();
  command
      .integer("--history-steps", o->history_steps, "Steps after warm-up to plan on (default: half)", 1, 1'000'000'000)
      .hide_default();
  command
      .integer("--evaluate-steps", o->evaluate_steps, "Steps behind them to judge by (default: the rest)", 1,
               1'000'000'000)
      .hide_default();
  command.option("--min-gain", o->min_gain_percent, "Percent of throughput below which copies are not worth it")
      .show_default();
  command.option("--confidence", o->confidence_percent, "Percent, of the interval of all policies' gains")
      .show_default();
  command.flag("--json", o->json, "One line of JSON instead of the table");
  cli::add_planning_flags(command, o->planning, false);
  command.integer("--kv-tokens", o->kv_tokens, "Cached tokens per token, for streams without batch records", 0,
                  1 << 24);
  command.choice("--links", o->links, "Copies on links of their own, or on those of the hidden states (shared)",
                 {"own", "shared"});
  command.flag("--replan", o->replan, "Drop plans that the input has");
  command.flag("--allow-drop", o->allow_drop, "Accept demand that sums to less than tokens x top-k");
  command.examples(
      {{"Whether copies would help on four workers; exit 1 says no",
        "afore-trace synth --model gpt-oss-20b --layers 0-3 --steps 60 --skew 2 \\\n"
        "  --microbatches 3 --tokens 512 > demand.jsonl\n"
        "afore-plan advise --workers 4 demand.jsonl || echo \"exit $?\""},
       {"The verdict for a program", "afore-plan advise --workers 4 --json demand.jsonl > advice.json || true"}});
  command.on_run([command, o] {
    cli::refuse_terminal_stdin(o->input, command);
    run_advise(*o);
  });
}

}  // namespace afore::plan
