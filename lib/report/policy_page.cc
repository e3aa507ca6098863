#include "report/policy_page.h"

#include <algorithm>

#include "report/policy_bars.h"
#include "report/provenance.h"

namespace afore::report {
namespace {

template <class Value>
void add(PolicyComparison& comparison, const std::vector<PolicyRun>& runs, const char* name, bool more, int decimals,
         double scale, Value&& value) {
  PolicyMetric metric{name, more, {}, decimals};
  for (const PolicyRun& run : runs) {
    std::optional<double> v = value(run.summary);
    if (v) *v *= scale;
    metric.values.push_back(v);
  }
  const bool any = std::any_of(metric.values.begin(), metric.values.end(), [](const auto& v) { return v.has_value(); });
  if (any) comparison.metrics.push_back(std::move(metric));
}

// The columns of afore-serve compare's tables (docs/metrics.md, "compare"), as they print them.
PolicyComparison comparison_of(const std::vector<PolicyRun>& runs) {
  using S = const Summary&;
  using Value = std::optional<double>;
  PolicyComparison c;
  for (const PolicyRun& run : runs) c.policies.push_back(run.policy);
  add(c, runs, "tokens/s", true, 0, 1, [](S s) { return s.total_token_throughput; });
  add(c, runs, "goodput, requests/s", true, 2, 1, [](S s) { return s.request_goodput; });
  add(c, runs, "TTFT p50 ms", false, 1, 1, [](S s) { return s.ttft.median; });
  add(c, runs, "TTFT p99 ms", false, 1, 1, [](S s) { return s.ttft.p99; });
  add(c, runs, "TPOT p50 ms", false, 2, 1, [](S s) { return s.injected ? s.tpot.median : std::nullopt; });
  add(c, runs, "FFN us", false, 1, 1e-3, [](S s) { return s.ffn_ns; });
  add(c, runs, "exposed us", false, 2, 1e-3, [](S s) { return s.exposed_ns; });
  add(c, runs, "step ms", false, 3, 1e-6, [](S s) { return s.step_ns; });
  add(c, runs, "ITL p50 ms", false, 3, 1, [](S s) { return s.itl.median; });
  add(c, runs, "ITL p95 ms", false, 3, 1, [](S s) { return s.itl.p95; });
  add(c, runs, "tiles max/mean", false, 3, 1, [](S s) { return s.imbalance_tiles; });
  add(c, runs, "tokens max/mean", false, 3, 1, [](S s) { return s.imbalance_tokens; });
  add(c, runs, "copied GiB", false, 2, 1 / 1073741824.0,
      [](S s) { return Value(static_cast<double>(s.copied_bytes)); });
  return c;
}

PagePanel policies_panel(const PolicyComparison& comparison, const std::string& caption) {
  PagePanel panel{"policies", "Policies", policy_bars(comparison, caption).embedded(), "", policy_figures(comparison)};
  return panel;
}

PagePanel imbalance_panel(const std::vector<PolicyRun>& runs, const std::string& caption) {
  PagePanel panel{"imbalance", "Over time", "", missing(*runs.front().data, View::imbalance), Table({})};
  if (!panel.missing.empty()) return panel;
  OverTime steps;
  steps.unit = runs.front().data->load.unit;
  steps.expert_bytes = std::max<std::int64_t>(0, runs.front().data->header->model.expert_bytes);
  steps.cumulative = true;
  for (const PolicyRun& run : runs) steps.series.push_back({run.policy, run.data->planned, true});
  panel.svg = over_time(steps, caption).embedded();
  panel.figures = over_time_figures(steps);
  return panel;
}

PagePanel latency_panel(const std::vector<PolicyRun>& runs, const std::string& caption, const LatencyLimits& limits) {
  PagePanel panel{"cdf", "Latency", "", "no step of any policy ended after warm-up", Table({})};
  std::vector<CdfPanel> cdf = latency_panels(limits);
  bool any = false, any_itl = false;
  for (const PolicyRun& run : runs) {
    const RunData& d = *run.data;
    cdf[0].series.push_back({run.policy, d.ttft});
    cdf[1].series.push_back({run.policy, d.tpot});
    cdf[2].series.push_back({run.policy, d.itl});
    cdf[3].series.push_back({run.policy, d.step_length});
    any = any || missing(d, View::cdf).empty();
    any_itl = any_itl || !d.itl.empty();
  }
  if (any_itl) cdf.pop_back();
  if (!any) return panel;
  panel.svg = cdfs(cdf, caption).embedded();
  panel.figures = cdf_figures(cdf);
  return panel;
}

}  // namespace

std::string policy_page(const Header& header, const std::vector<PolicyRun>& runs, const ViewOptions& options) {
  Header workload = header;
  workload.planner.reset();  // each has its own
  const std::string words = caption(workload);
  const PolicyComparison comparison = comparison_of(runs);
  Page page;
  page.title = "AFORE policies: " + words;
  if (std::any_of(runs.begin(), runs.end(), [](const PolicyRun& run) { return run.summary.interrupted; }))
    page.title += " (interrupted)";
  page.provenance = provenance(workload);
  std::string names;
  for (const PolicyRun& run : runs) names += (names.empty() ? "" : ", ") + run.policy;
  page.provenance.emplace_back("policies", names);
  page.figures = policy_figures(comparison);
  page.panels.push_back(policies_panel(comparison, words));
  page.panels.push_back(imbalance_panel(runs, words));
  page.panels.push_back(latency_panel(runs, words, options.limits));
  return html_page(page);
}

}  // namespace afore::report
