// What `afore-plan ratio` found, for people and for machines (docs/advice.md).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "afore-plan/ratio.h"
#include "afore-plan/rounded.h"
#include "common/cli.h"
#include "common/messages.h"
#include "report/table.h"
#include "wire/json_writer.h"

namespace afore::plan {
namespace {

double us(double ns) { return ns / 1e3; }

double error_percent(double predicted, double simulated) {
  return simulated > 0 ? (predicted / simulated - 1) * 100 : 0;
}

std::string heading(const RatioCase& q, const RatioAnswer& a) {
  const cli::Setup& s = q.setup;
  std::string text = fmt::format(
      "{} on {}: {} FFN workers, {} sequences of {} cached tokens per microbatch and attention worker, {} tokens per "
      "tile\n",
      s.model.name.empty() ? "model" : cli::printable(s.model.name), cli::printable(s.profile.name),
      q.sizes.ffn_workers, q.sizes.batch, q.sizes.context_tokens, s.cluster.tile_tokens);
  text += fmt::format("experts: {}, the busiest worker has {:.3f} of the mean\n",
                      q.measured_shares ? "as popular as in the stream" : "equally popular", q.sizes.imbalance);
  const advice::Coefficients& c = q.coefficients;
  text += fmt::format(
      "coefficients, us, of the microbatch's tokens: attention {:.2f}; FFN {:.5f} x tokens + {:.2f}; link {:.5f} x "
      "tokens + {:.2f}, at least {:.2f}\n",
      us(c.attention_ns), us(c.alpha_ffn_ns), us(c.beta_ffn_ns), us(c.alpha_link_ns), us(c.beta_link_ns),
      us(std::max(c.a2f_floor_ns, c.f2a_floor_ns)));
  const double ratio = static_cast<double>(a.attention_workers) / static_cast<double>(q.sizes.ffn_workers);
  text +=
      fmt::format("\nanswer: {} attention workers for {} FFN workers ({:.3f} FFN workers for each), {} microbatches\n",
                  a.attention_workers, q.sizes.ffn_workers, 1 / ratio, a.microbatches);
  text += fmt::format(
      "stages there, us: attention {:.1f}, A2F {:.1f} beside control {:.1f}, FFN {:.1f} (simulated "
      "{:.1f}), F2A {:.1f}\n",
      us(a.stages.attention_ns), us(a.stages.a2f_ns), us(a.stages.control_ns), us(a.stages.ffn_ns),
      us(a.three.simulated_ffn_ns), us(a.stages.f2a_ns));
  text += fmt::format("cached tokens of an attention worker: {}, room for {}: {}\n", a.kv_tokens, a.kv_budget_tokens,
                      a.kv_tokens <= a.kv_budget_tokens ? "they fit" : "they do not fit, take a smaller batch");
  return text;
}

double formula(const RatioCase& q, const RatioPoint& p) {
  return advice::tokens_per_worker_s(q.coefficients, p.attention_workers, static_cast<std::int64_t>(q.shares.size()));
}

const RatioPoint& best_simulated(const std::vector<RatioPoint>& points) {
  return *std::max_element(points.begin(), points.end(), [](const RatioPoint& a, const RatioPoint& b) {
    return a.simulated_tokens_per_worker_s < b.simulated_tokens_per_worker_s;
  });
}

// What the simulator has of `point` over what it has of the one of `points` with `value` in `field`, in percent.
double simulated_over(const RatioPoint& point, const std::vector<RatioPoint>& points, std::int64_t RatioPoint::*field,
                      std::int64_t value) {
  for (const RatioPoint& p : points)
    if (p.*field == value) return error_percent(point.simulated_tokens_per_worker_s, p.simulated_tokens_per_worker_s);
  return 0;
}

const char* bound_by(const RatioCase& q, std::int64_t attention_workers) {
  const advice::Stages s = advice::stages(q.coefficients, attention_workers);
  if (s.largest_ns() == s.attention_ns) return "attention";
  return s.largest_ns() == s.ffn_ns ? "FFN" : "links";
}

std::string worker_table(const RatioCase& q, const RatioAnswer& a) {
  report::Table table({{"attention workers"},
                       {"A : F"},
                       {"bound by", report::Align::left},
                       {"predicted tokens/s per worker"},
                       {"simulated"},
                       {"error"},
                       {"vs answer"}});
  for (const RatioPoint& p : a.workers)
    table.add_row(
        {fmt::format("{}{}", p.attention_workers == a.attention_workers ? "* " : "", p.attention_workers),
         fmt::format("{:.3f}", static_cast<double>(p.attention_workers) / static_cast<double>(q.sizes.ffn_workers)),
         bound_by(q, p.attention_workers), fmt::format("{:.1f}", formula(q, p)),
         fmt::format("{:.1f}", p.simulated_tokens_per_worker_s),
         fmt::format("{:+.1f}%", error_percent(formula(q, p), p.simulated_tokens_per_worker_s)),
         fmt::format("{:+.1f}%", simulated_over(p, a.workers, &RatioPoint::attention_workers, a.attention_workers))});
  std::string text =
      fmt::format("\nattention workers [1]: r* = {:.2f}; with {} microbatches\n", a.provisioned, a.microbatches) +
      table.aligned();
  const RatioPoint& best = best_simulated(a.workers);
  if (best.attention_workers != a.attention_workers)
    text += fmt::format("in the simulator {} are the best of these\n", best.attention_workers);
  if (a.attention_workers == a.most_workers) text += fmt::format("more than {} are not tried\n", a.most_workers);
  return text;
}

std::string batch_table(const RatioAnswer& a) {
  report::Table table({{"microbatches"},
                       {"predicted step ms"},
                       {"[5] step ms"},
                       {"simulated"},
                       {"error"},
                       {"[5] error"},
                       {"simulated tokens/s per worker"},
                       {"vs answer"}});
  for (const RatioPoint& p : a.batches)
    table.add_row({fmt::format("{}{}", p.microbatches == a.microbatches ? "* " : "", p.microbatches),
                   fmt::format("{:.3f}", p.predicted_step_ns / 1e6), fmt::format("{:.3f}", p.pipe_step_ns / 1e6),
                   fmt::format("{:.3f}", p.simulated_step_ns / 1e6),
                   fmt::format("{:+.1f}%", error_percent(p.predicted_step_ns, p.simulated_step_ns)),
                   fmt::format("{:+.1f}%", error_percent(p.pipe_step_ns, p.simulated_step_ns)),
                   fmt::format("{:.1f}", p.simulated_tokens_per_worker_s),
                   fmt::format("{:+.1f}%", simulated_over(p, a.batches, &RatioPoint::microbatches, a.microbatches))});
  const double work_ns = std::max(a.stages.attention_ns, a.stages.ffn_ns), asked = advice::microbatches(a.stages);
  std::string text = fmt::format("\nmicrobatches [2]: m >= 2 (1 + {:.1f} / {:.1f}) = {:.2f}\n", us(a.stages.link_ns()),
                                 us(work_ns), asked);
  if (asked > static_cast<double>(a.microbatches))
    text += fmt::format("links are too slow for a pipeline: {} are simulated\n", a.microbatches);
  return text + table.aligned();
}

// A condition under three microbatches, and what it says stays busy: its idle share as predicted and as simulated.
struct Condition {
  const char* text;
  double left_ns, right_ns;
  const char* pool;
  double stage_ns;
  bool holds() const { return left_ns >= right_ns; }
};

std::vector<Condition> conditions(const RatioAnswer& a) {
  const advice::Stages& s = a.stages;
  const double links = s.a2f_ns + s.f2a_ns;
  return {{"[3] A >= A2F + F2A", s.attention_ns, links, "attention", s.attention_ns},
          {"[4] 2 A >= F + A2F + F2A", 2 * s.attention_ns, s.ffn_ns + links, "attention", s.attention_ns},
          {"[4] 2 F >= A + A2F + F2A", 2 * s.ffn_ns, s.attention_ns + links, "FFN", s.ffn_ns}};
}

double idle(double stage_ns, double cycle_ns) {
  return cycle_ns > 0 ? std::max(0.0, 1 - 3 * stage_ns / cycle_ns) * 100 : 0;
}

double simulated_cycle_ns(const RatioCase& q, const RatioAnswer& a) {
  return a.three.simulated_step_ns / static_cast<double>(q.shares.size());
}

std::string condition_table(const RatioCase& q, const RatioAnswer& a) {
  using report::Align;
  report::Table table({{"condition", Align::left},
                       {"left us"},
                       {"right us"},
                       {"holds", Align::left},
                       {"idle", Align::left},
                       {"predicted"},
                       {"simulated"}});
  for (const Condition& c : conditions(a))
    table.add_row({c.text, fmt::format("{:.1f}", us(c.left_ns)), fmt::format("{:.1f}", us(c.right_ns)),
                   c.holds() ? "yes" : "no", c.pool,
                   fmt::format("{:.1f}%", idle(c.stage_ns, advice::cycle_ns(a.stages, 3))),
                   fmt::format("{:.1f}%", idle(c.stage_ns, simulated_cycle_ns(q, a)))});
  return "\nno bubble with three microbatches: idle share of a pool\n" + table.aligned();
}

void add_points(wire::JsonWriter& json, const char* key, const RatioCase& q, const std::vector<RatioPoint>& points) {
  json.key(key);
  json.open('[');
  for (const RatioPoint& p : points) {
    json.separate();
    json.open('{');
    json.integer("attention_workers", p.attention_workers);
    json.integer("microbatches", p.microbatches);
    json.real("formula_tokens_per_worker_s", rounded(formula(q, p)));
    json.real("predicted_tokens_per_worker_s", rounded(p.predicted_tokens_per_worker_s));
    json.real("simulated_tokens_per_worker_s", rounded(p.simulated_tokens_per_worker_s));
    json.real("predicted_step_ns", rounded(p.predicted_step_ns));
    json.real("pipe_step_ns", rounded(p.pipe_step_ns));
    json.real("simulated_step_ns", rounded(p.simulated_step_ns));
    json.close('}');
  }
  json.close(']');
}

}  // namespace

std::string ratio_text(const RatioCase& question, const RatioAnswer& answer) {
  return heading(question, answer) + worker_table(question, answer) + batch_table(answer) +
         condition_table(question, answer) + "\nsources: afore-plan ratio in docs/advice.md\n";
}

std::string ratio_json(const RatioCase& q, const RatioAnswer& a) {
  std::string text;
  wire::JsonWriter json(text);
  json.open('{');
  json.string("kind", "ratio");
  json.integer("v", kRecordVersion);
  json.string("producer", cli::producer("afore-plan"));
  json.string_or_null("model", q.setup.model.name);
  json.string("cost", q.setup.profile.name);
  json.integer("ffn_workers", q.sizes.ffn_workers);
  json.integer("batch", q.sizes.batch);
  json.integer("context_tokens", q.sizes.context_tokens);
  json.real("imbalance", rounded(q.sizes.imbalance));
  json.integer("attention_workers", a.attention_workers);
  json.real("provisioned_workers", rounded(a.provisioned));
  json.integer("microbatches", a.microbatches);
  json.integer("kv_tokens", a.kv_tokens);
  json.integer("kv_budget_tokens", a.kv_budget_tokens);
  json.key("stages");
  json.open('{');
  json.real("attention_ns", rounded(a.stages.attention_ns));
  json.real("a2f_ns", rounded(a.stages.a2f_ns));
  json.real("control_ns", rounded(a.stages.control_ns));
  json.real("ffn_ns", rounded(a.stages.ffn_ns));
  json.real("f2a_ns", rounded(a.stages.f2a_ns));
  json.real("simulated_ffn_ns", rounded(a.three.simulated_ffn_ns));
  json.close('}');
  add_points(json, "by_attention_workers", q, a.workers);
  add_points(json, "by_microbatches", q, a.batches);
  json.key("conditions");
  json.open('[');
  for (const Condition& c : conditions(a)) {
    json.separate();
    json.open('{');
    json.string("condition", c.text);
    json.boolean("holds", c.holds());
    json.real("left_ns", rounded(c.left_ns));
    json.real("right_ns", rounded(c.right_ns));
    json.string("pool", c.pool);
    json.real("predicted_idle_percent", rounded(idle(c.stage_ns, advice::cycle_ns(a.stages, 3))));
    json.real("simulated_idle_percent", rounded(idle(c.stage_ns, simulated_cycle_ns(q, a))));
    json.close('}');
  }
  json.close(']');
  json.close('}');
  return text + "\n";
}

}  // namespace afore::plan
