#include "fit_crossover.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "report/table.h"

namespace afore::cli {
namespace {

constexpr double kEqual = 0.02;  // pairs closer than this are not asked which is faster

struct Pair {
  const fit::FittedRow* even;
  const fit::FittedRow* skewed;

  double measured() const { return skewed->row.time_ns / even->row.time_ns; }
  double fitted() const { return skewed->fitted_ns / even->fitted_ns; }
  bool agree() const { return (measured() > 1) == (fitted() > 1); }
};

// By (alpha descending, workers, tokens).
using Pairs = std::map<std::tuple<double, std::int64_t, double>, Pair>;

Pairs pairs_of(const fit::GroupFit& group) {
  std::map<std::pair<std::int64_t, double>, const fit::FittedRow*> even;
  for (const fit::FittedRow& row : group.rows)
    if (row.row.load.kind == ExpertLoad::Kind::uniform) even[{row.row.workers, row.row.size}] = &row;
  Pairs pairs;
  for (const fit::FittedRow& row : group.rows) {
    const auto at = even.find({row.row.workers, row.row.size});
    if (row.row.load.kind != ExpertLoad::Kind::power_law || at == even.end()) continue;
    pairs.emplace(std::tuple(-row.row.load.alpha, row.row.workers, row.row.size), Pair{at->second, &row});
  }
  return pairs;
}

void add_row(report::Table& table, const Pair& pair) {
  const auto ms = [](double ns) { return fmt::format("{:.3f}", ns / 1e6); };
  table.add_row({std::to_string(pair.even->row.workers), fmt::format("{:.0f}", pair.even->row.size),
                 pair.skewed->row.distribution, ms(pair.skewed->row.time_ns), ms(pair.even->row.time_ns),
                 ms(pair.skewed->fitted_ns), ms(pair.even->fitted_ns), pair.skewed->held ? "held" : "fitted",
                 pair.even->held ? "held" : "fitted", pair.agree() ? "yes" : "no"});
}

// Of one EP size: the last size at which the skewed load is faster, the next one, and the largest.
void add_rows(report::Table& table, const std::vector<Pair>& series) {
  std::size_t slower = series.size();
  while (slower > 0 && series[slower - 1].measured() > 1) --slower;
  if (slower > 0) add_row(table, series[slower - 1]);
  if (slower < series.size()) add_row(table, series[slower]);
  if (slower + 1 < series.size()) add_row(table, series.back());
}

std::string of_group(const fit::GroupFit& group) {
  const Pairs pairs = pairs_of(group);
  if (pairs.empty()) return "";
  std::size_t asked = 0, agree = 0;
  std::map<std::int64_t, std::vector<Pair>> most_skewed;  // by workers, tokens ascending
  for (const auto& [key, pair] : pairs) {
    if (std::abs(pair.measured() - 1) > kEqual) ++asked, agree += pair.agree() ? 1 : 0;
    if (std::get<0>(key) == std::get<0>(pairs.begin()->first)) most_skewed[std::get<1>(key)].push_back(pair);
  }
  using report::Align;
  report::Table table({{"ep"},
                       {"tokens"},
                       {"skewed", Align::left},
                       {"measured ms"},
                       {"even"},
                       {"fitted ms"},
                       {"even"},
                       {"skewed row", Align::left},
                       {"even row", Align::left},
                       {"same order", Align::left}});
  for (const auto& [workers, series] : most_skewed) add_rows(table, series);
  return fmt::format(
      "{}: skewed against even loads of the same tokens.\n"
      "Which is faster is fitted right in {} of {} pairs that differ by more than {:.0f} % (all distributions).\n"
      "Around the crossover of the most skewed, and at its end:\n{}",
      group.name, agree, asked, 100 * kEqual, table.aligned());
}

}  // namespace

std::string crossover_report(const std::vector<fit::GroupFit>& groups) {
  std::string text;
  for (const fit::GroupFit& group : groups)
    if (group.form == TableForm::generation && group.parameters > 0) text += of_group(group);
  return text;
}

}  // namespace afore::cli
