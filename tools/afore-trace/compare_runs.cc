#include "compare_runs.h"

#include <algorithm>
#include <tuple>

#include "common/record_stream.h"
#include "util/error.h"

namespace afore::cli {
namespace {

// Sorts by key and keeps the last of those with the same one, as the last summary is the one that counts, too.
template <class T, class Key>
void keep_last(std::vector<T>& records, Key key, std::int64_t& replaced) {
  std::stable_sort(records.begin(), records.end(), [&](const T& x, const T& y) { return key(x) < key(y); });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (i + 1 < records.size() && key(records[i]) == key(records[i + 1])) ++replaced;
    else if (kept++ != i) records[kept - 1] = std::move(records[i]);
  }
  records.erase(records.begin() + static_cast<std::ptrdiff_t>(kept), records.end());
}

const Target& target_of(const Observed& record) { return record.target; }
const std::string& id_of(const Completion& record) { return record.id; }

// Both sorted by key. `see` gets the pairs.
template <class T, class Key, class See>
void match(const std::vector<T>& a, const std::vector<T>& b, Key key, ComparedRecords& result, See see) {
  auto at_a = a.begin(), at_b = b.begin();
  while (at_a != a.end() && at_b != b.end()) {
    if (key(*at_a) < key(*at_b)) {
      ++at_a;
    } else if (key(*at_b) < key(*at_a)) {
      ++at_b;
    } else {
      ++result.matched;
      see(*at_a++, *at_b++);
    }
  }
  result.only_a = std::ssize(a) - result.matched;
  result.only_b = std::ssize(b) - result.matched;
}

void finish(ComparedRecords& records) {
  for (ComparedField& field : records.fields) {
    field.mape = trace::mape(field.a, field.b);
    field.bias_percent = trace::bias(field.a, field.b);
    field.pearson = trace::pearson(field.a, field.b);
  }
}

void add_pair(ComparedField& field, double a, double b) {
  field.a.push_back(a);
  field.b.push_back(b);
}

ComparedRecords compare_observed(const Run& a, const Run& b) {
  using Field = Nanos Observed::*;
  constexpr std::pair<const char*, Field> kFields[] = {{"ffn_ns", &Observed::ffn_ns},
                                                       {"migration_ns", &Observed::migration_ns},
                                                       {"window_ns", &Observed::window_ns},
                                                       {"exposed_ns", &Observed::exposed_ns}};
  ComparedRecords result;
  for (const auto& [name, field] : kFields) result.fields.emplace_back().name = name;
  const auto is_warmup = [](const Run& run, const Target& target) {
    return std::binary_search(run.warmup.begin(), run.warmup.end(), target);
  };
  match(a.observed, b.observed, target_of, result, [&](const Observed& x, const Observed& y) {
    if (is_warmup(a, x.target) || is_warmup(b, x.target)) {
      ++result.left_out;
      return;
    }
    for (std::size_t i = 0; i < std::size(kFields); ++i)
      add_pair(result.fields[i], static_cast<double>(x.*kFields[i].second), static_cast<double>(y.*kFields[i].second));
  });
  finish(result);
  return result;
}

// Latencies are those of complete requests, as in summaries.
bool is_complete(const Completion& c) {
  return c.times && c.times->first_token_ns && (c.finish_reason == "stop" || c.finish_reason == "length");
}

ComparedRecords compare_completions(const Run& a, const Run& b) {
  ComparedRecords result;
  result.fields.resize(2);
  result.fields[0].name = "ttft_ms";
  result.fields[1].name = "e2el_ms";
  const auto ms = [](Nanos from, Nanos to) { return static_cast<double>(to - from) / 1e6; };
  const auto ttft = [&](const CompletionTimes& t) { return ms(t.arrival_ns, *t.first_token_ns); };
  const auto e2el = [&](const CompletionTimes& t) { return ms(t.arrival_ns, t.finished_ns); };
  match(a.completions, b.completions, id_of, result, [&](const Completion& x, const Completion& y) {
    if (!is_complete(x) || !is_complete(y)) {
      ++result.left_out;
      return;
    }
    add_pair(result.fields[0], ttft(*x.times), ttft(*y.times));
    add_pair(result.fields[1], e2el(*x.times), e2el(*y.times));
  });
  finish(result);
  return result;
}

// Both lists have the same keys, unless there is no summary.
void compare_numbers(Comparison& result) {
  const std::vector<wire::SummaryNumber>&a = result.a.numbers, &b = result.b.numbers;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    ComparedMetric metric;
    metric.key = i < a.size() ? a[i].key : b[i].key;
    if (i < a.size()) metric.a = a[i].value;
    if (i < b.size()) metric.b = b[i].value;
    if (metric.a && metric.b) metric.difference_percent = trace::percent_difference(*metric.a, *metric.b);
    if (metric.a || metric.b) result.metrics.push_back(std::move(metric));
    else result.no_number.push_back(std::move(metric.key));
  }
}

}  // namespace

Run read_run(const std::string& path, Recover recover) {
  RecordStream in(path, read_options(kAbsent, true), recover, Progress::Output::at_end);
  Run run;
  run.name = in.lines().name();
  while (in.next()) {
    const Record& record = in.record();
    if (const auto* observed = std::get_if<Observed>(&record)) {
      run.observed.push_back(*observed);
    } else if (const auto* demand = std::get_if<Demand>(&record)) {
      if (demand->phase == Phase::warmup) run.warmup.push_back(demand->target);
    } else if (const auto* completion = std::get_if<Completion>(&record)) {
      Completion& kept = run.completions.emplace_back();
      std::tie(kept.id, kept.finish_reason, kept.times) =
          std::tie(completion->id, completion->finish_reason, completion->times);
    } else if (const auto* summary = std::get_if<Summary>(&record)) {
      // A replay of targets ends no requests: those before its summary are of the run whose stream it was given.
      if (run.summary && run.summary->e2el.mean && !summary->e2el.mean) run.completions.clear();
      run.summary = *summary;
      run.numbers = wire::summary_numbers(in.raw());
    }
  }
  keep_last(run.observed, target_of, run.replaced);
  keep_last(run.completions, id_of, run.replaced);
  std::sort(run.warmup.begin(), run.warmup.end());
  return run;
}

Comparison compare_runs(Run a, Run b) {
  Comparison result;
  result.a = std::move(a);
  result.b = std::move(b);
  compare_numbers(result);
  result.observed = compare_observed(result.a, result.b);
  result.completions = compare_completions(result.a, result.b);
  const bool shares_metric =
      std::any_of(result.metrics.begin(), result.metrics.end(), [](const ComparedMetric& m) { return m.a && m.b; });
  if (!shares_metric && result.observed.matched == 0 && result.completions.matched == 0)
    throw Error(ErrorKind::data,
                result.a.name + " and " + result.b.name +
                    " have no number of a summary, no observed target and no completed request in common",
                "compare two runs of one stream, as afore-serve replay writes them");
  return result;
}

}  // namespace afore::cli
