#include "fit/suspects.h"

#include <algorithm>
#include <map>
#include <utility>

#include "util/error.h"
#include "util/stats.h"

namespace afore::fit {
namespace {

struct Place {
  const std::string* table;
  std::int64_t line;
  double time_ns;
  std::string text() const { return *table + ":" + std::to_string(line); }
};

std::string full_key(const MeasuredTable& table, const MeasuredRow& row) {
  return table.device + "|" + std::to_string(static_cast<int>(table.form)) + "|" + row.key;
}

struct Step {
  std::int64_t line = 0;
  std::string group, label;
  std::vector<double> times;
};

}  // namespace

std::size_t drop_repeats(std::vector<MeasuredTable>& tables) {
  std::map<std::string, Place> seen;
  std::size_t dropped = 0;
  for (MeasuredTable& table : tables) {
    const auto repeats = [&](const MeasuredRow& row) {
      const auto [at, added] = seen.emplace(full_key(table, row), Place{&table.name, row.line, row.time_ns});
      if (added) return false;
      if (at->second.time_ns != row.time_ns)
        throw Error(ErrorKind::data,
                    table.name + ":" + std::to_string(row.line) + ": the same experiment as " + at->second.text() +
                        " took another time (" + row.group + ", " + row.label + ")",
                    "keep the one that is right, or tell them apart by a column");
      return true;
    };
    dropped += std::erase_if(table.rows, repeats);
  }
  return dropped;
}

void refuse_copies(std::span<const MeasuredTable> tables) {
  for (std::size_t i = 0; i < tables.size(); ++i)
    for (std::size_t j = i + 1; j < tables.size(); ++j) {
      const MeasuredTable &a = tables[i], &b = tables[j];
      if (a.device == b.device || a.form != b.form) continue;
      std::map<std::string, double> times;
      for (const MeasuredRow& row : a.rows) times.emplace(row.key, row.time_ns);
      std::size_t shared = 0, equal = 0;
      for (const MeasuredRow& row : b.rows)
        if (const auto at = times.find(row.key); at != times.end())
          ++shared, equal += at->second == row.time_ns ? 1 : 0;
      if (shared < 2 || 2 * equal <= shared) continue;
      throw Error(ErrorKind::data,
                  b.name + " (" + b.device + ") has the times of " + a.name + " (" + a.device + ") in " +
                      std::to_string(equal) + " of " + std::to_string(shared) + " rows, to the last digit",
                  "one of them is a copy under another name: leave it out");
    }
}

std::vector<Fall> falling_times(const MeasuredTable& table) {
  std::map<std::string, std::map<double, Step>> series;
  for (const MeasuredRow& row : table.rows) {
    Step& step = series[row.group + "|" + row.series][row.size];
    if (step.times.empty()) step.line = row.line, step.group = row.group, step.label = row.label;
    step.times.push_back(row.time_ns);
  }
  std::vector<Fall> falls;
  for (auto& [key, steps] : series) {
    for (auto at = steps.begin(); at != steps.end(); ++at) {
      const auto next = steps.lower_bound(2 * at->first);
      if (next == steps.end()) break;
      const double time = *quantile(at->second.times, 0.5), larger = *quantile(next->second.times, 0.5);
      if (larger >= (1 - kFallTolerance) * time) continue;
      falls.push_back({table.name, at->second.line, next->second.line, at->second.group, at->second.label,
                       next->second.label, time, larger});
    }
  }
  std::stable_sort(falls.begin(), falls.end(), [](const Fall& a, const Fall& b) {
    return a.larger_time_ns / a.time_ns < b.larger_time_ns / b.time_ns;
  });
  return falls;
}

}  // namespace afore::fit
