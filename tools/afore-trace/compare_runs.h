#pragma once
// Two runs of one workload, read and put side by side: their last summaries, and their records of the same targets and
// requests. docs/metrics.md, afore-trace compare.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/records.h"
#include "trace/agreement.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::cli {

struct Run {
  std::string name;                          // of the file, or stdin
  std::optional<Summary> summary;            // the last one
  std::vector<wire::SummaryNumber> numbers;  // of that; empty without one
  std::vector<Observed> observed;            // by target; of several for one target the last
  std::vector<Completion> completions;       // by id, the same; without tokens and text
  std::vector<Target> warmup;                // ascending: targets whose demand says so
  std::int64_t replaced = 0;                 // records that a later one for the same target or request replaced
};

Run read_run(const std::string& path, Recover recover);

struct ComparedMetric {
  std::string key;
  std::optional<double> a, b;                // nullopt: null or absent
  std::optional<double> difference_percent;  // of a; nullopt where one is, or where only a is 0
};

struct ComparedField {
  std::string name;
  std::vector<double> a, b;
  trace::Mape mape;
  std::optional<double> bias_percent, pearson;
};

// Records of one kind that are there in both.
struct ComparedRecords {
  std::int64_t matched = 0, only_a = 0, only_b = 0;
  std::int64_t left_out = 0;  // of the matched: in no field, as of warm-up or not complete in both
  std::vector<ComparedField> fields;

  bool any() const { return matched + only_a + only_b > 0; }
};

struct Comparison {
  Run a, b;
  std::vector<ComparedMetric> metrics;  // those with a number in a or b
  std::vector<std::string> no_number;   // in neither
  ComparedRecords observed, completions;
};

// Error{data} where the runs have no metric, target or request in common.
Comparison compare_runs(Run a, Run b);

}  // namespace afore::cli
