#include "fit_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "fit_crossover.h"
#include "report/table.h"
#include "util/stats.h"

namespace afore::cli {
namespace {

using report::Align;
constexpr std::size_t kWorstRows = 8, kShownFalls = 12;

bool of_links(fit::GroupFit const& g) { return g.form == TableForm::nccl || g.form == TableForm::deepep; }
bool is_fitted(const fit::GroupFit& g) { return g.parameters > 0; }

std::string percent(double share) { return fmt::format("{:.1f}%", 100 * share); }
std::string us(double ns) { return fmt::format("{:.3f}", ns / 1000); }

std::vector<std::string> error_cells(const fit::Errors& e) {
  if (e.rows == 0) return {"-", "-", "-"};
  return {percent(e.median), percent(e.p90), percent(e.max)};
}

void append(std::vector<std::string>& row, std::vector<std::string> more) {
  row.insert(row.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

// `groups` of one kind as one: the errors of all their held rows.
template <class Keep>
fit::Errors held_errors(const std::vector<fit::GroupFit>& groups, Keep&& keep) {
  std::vector<double> errors;
  for (const fit::GroupFit& group : groups)
    if (is_fitted(group) && keep(group))
      for (const fit::FittedRow& row : group.rows)
        if (row.held) errors.push_back(row.error);
  return fit::errors_of(std::move(errors));
}

std::string table_of(const fit::GroupFit& group) {  // "h100/generation"
  return group.name.substr(0, group.name.find('/', group.name.find('/') + 1));
}

std::string coefficients(const std::vector<fit::GroupFit>& groups) {
  report::Table table({{"grouped products", Align::left},
                       {"tile"},
                       {"c0 us"},
                       {"c1 us"},
                       {"c2 us"},
                       {"ns/token"},
                       {"floor us"},
                       {"rows"},
                       {"fitted"},
                       {"p90"},
                       {"max"},
                       {"held"},
                       {"p90"},
                       {"max"}});
  for (const fit::GroupFit& g : groups) {
    if (of_links(g) || !is_fitted(g)) continue;
    const bool context = g.form == TableForm::context;
    std::vector<std::string> row = {g.name,
                                    std::to_string(g.tile_tokens),
                                    us(g.model.c[0]),
                                    us(g.model.c[1]),
                                    us(g.model.c[2]),
                                    context ? fmt::format("{:.3f}", g.model.c[3]) : "-",
                                    context ? us(g.model.floor_ns) : "-",
                                    std::to_string(g.rows.size())};
    append(row, error_cells(g.fitted));
    append(row, error_cells(g.held));
    table.add_row(row);
  }
  return table.aligned();
}

std::string generalisation(const std::vector<fit::GroupFit>& groups) {
  report::Table table({{"grouped products", Align::left},
                       {"sizes left out"},
                       {"p90"},
                       {"max"},
                       {"c0, c1, c2 alone"},
                       {"p90"},
                       {"max"}});
  for (const fit::GroupFit& g : groups) {
    if (of_links(g) || !is_fitted(g)) continue;
    std::vector<std::string> row = {g.name};
    append(row, error_cells(g.left_out));
    append(row, error_cells(g.plain_held));
    table.add_row(row);
  }
  return table.aligned();
}

std::string by_table(const std::vector<fit::GroupFit>& groups) {
  report::Table table({{"held rows of", Align::left}, {"rows"}, {"median"}, {"p90"}, {"max"}});
  const auto add = [&](const std::string& name, const fit::Errors& errors) {
    if (errors.rows == 0) return;
    std::vector<std::string> row = {name, std::to_string(errors.rows)};
    append(row, error_cells(errors));
    table.add_row(row);
  };
  std::vector<std::string> names;
  for (const fit::GroupFit& g : groups)
    if (is_fitted(g) && std::find(names.begin(), names.end(), table_of(g)) == names.end()) names.push_back(table_of(g));
  for (const std::string& name : names)
    add(name, held_errors(groups, [&](const fit::GroupFit& g) { return table_of(g) == name; }));
  table.add_rule();
  add("all grouped products", held_errors(groups, [](const fit::GroupFit& g) { return !of_links(g); }));
  add("all links", held_errors(groups, [](const fit::GroupFit& g) { return of_links(g); }));
  return table.aligned();
}

std::string links(const std::vector<fit::GroupFit>& groups) {
  report::Table table(
      {{"links", Align::left}, {"latency us"}, {"GB/s"}, {"rows"}, {"held"}, {"p90"}, {"max"}, {"sizes left out"}});
  for (const fit::GroupFit& g : groups) {
    if (!of_links(g) || !is_fitted(g)) continue;
    std::vector<std::string> row = {g.name, us(g.model.c[0]),
                                    g.model.c[1] > 0 ? fmt::format("{:.1f}", 1 / g.model.c[1]) : "-",
                                    std::to_string(g.rows.size())};
    append(row, error_cells(g.held));
    row.push_back(percent(g.left_out.median));
    table.add_row(row);
  }
  return table.aligned();
}

std::string built_in(const std::vector<fit::GroupFit>& groups) {
  report::Table table({{"built-in / measured", Align::left},
                       {"profile"},
                       {"c0"},
                       {"c1"},
                       {"c1 + c2"},
                       {"time p10"},
                       {"median"},
                       {"p90"}});
  for (const fit::GroupFit& g : groups) {
    const HardwareProfile* profile = built_in_for(g.device);
    if (of_links(g) || !is_fitted(g) || profile == nullptr) continue;
    const MeasuredRow& first = g.rows.front().row;
    ModelSpec model;
    model.hidden = first.hidden;
    model.moe_intermediate = first.intermediate;
    model.expert_bytes = std::llround(3.0 * static_cast<double>(first.hidden) *
                                      static_cast<double>(first.intermediate) * first.weight_bytes);
    const LayerCost cost = layer_cost(*profile, model, g.tile_tokens);
    std::vector<double> ratios;
    for (const fit::FittedRow& row : g.rows) {
      const double modelled = static_cast<double>(cost.c0_ns) + static_cast<double>(cost.c1_ns) * row.work.tiles +
                              static_cast<double>(cost.c2_ns) * row.work.activated;
      ratios.push_back(modelled / row.row.time_ns);
    }
    const auto over = [](double a, double b) { return b > 0 ? fmt::format("{:.2f}", a / b) : "-"; };
    table.add_row({g.name, profile->name, over(static_cast<double>(cost.c0_ns), g.model.c[0]),
                   over(static_cast<double>(cost.c1_ns), g.model.c[1]),
                   over(static_cast<double>(cost.c1_ns + cost.c2_ns), g.model.c[1] + g.model.c[2]),
                   fmt::format("{:.2f}", *quantile(ratios, 0.1)), fmt::format("{:.2f}", *quantile(ratios, 0.5)),
                   fmt::format("{:.2f}", *quantile(ratios, 0.9))});
  }
  return table.aligned();
}

std::string worst(const std::vector<fit::GroupFit>& groups) {
  report::Table table({{"worst held rows", Align::left},
                       {"row", Align::left},
                       {"measured us"},
                       {"fitted us"},
                       {"error"},
                       {"deviation of 5 draws"}});
  std::map<std::string, std::vector<const fit::FittedRow*>> by_name;
  std::vector<std::string> names;
  for (const fit::GroupFit& g : groups) {
    if (!is_fitted(g)) continue;
    auto& rows = by_name[table_of(g)];
    if (rows.empty()) names.push_back(table_of(g));
    for (const fit::FittedRow& row : g.rows)
      if (row.held) rows.push_back(&row);
  }
  for (const std::string& name : names) {
    auto& rows = by_name[name];
    std::stable_sort(rows.begin(), rows.end(), [](const auto* a, const auto* b) { return a->error > b->error; });
    if (rows.size() > kWorstRows) rows.resize(kWorstRows);
    for (const fit::FittedRow* row : rows)
      table.add_row({fmt::format("{}:{}", row->table.substr(row->table.rfind('/') + 1), row->row.line),
                     row->row.group.substr(name.size() + 1) + " " + row->row.label, us(row->row.time_ns),
                     us(row->fitted_ns), percent(row->error),
                     row->draw_deviation > 0 ? percent(row->draw_deviation) : "-"});
  }
  return table.aligned();
}

std::string suspects(const FitResult& result) {
  std::string text = fmt::format(
      "exact repeats dropped: {}; times that fall by more than {:.0f} % where the size at least doubles, kept: {}\n",
      result.repeats, 100 * fit::kFallTolerance, result.falls.size());
  for (std::size_t i = 0; i < std::min(kShownFalls, result.falls.size()); ++i) {
    const fit::Fall& fall = result.falls[i];
    text += fmt::format("  {}:{} {} us -> :{} {} us ({} {} -> {})\n", fall.table.substr(fall.table.rfind('/') + 1),
                        fall.line, us(fall.time_ns), fall.larger_line, us(fall.larger_time_ns), fall.group, fall.label,
                        fall.larger_label);
  }
  if (result.falls.size() > kShownFalls) text += fmt::format("  and {} more\n", result.falls.size() - kShownFalls);
  return text;
}

std::string not_fitted(const std::vector<fit::GroupFit>& groups) {
  std::string text;
  for (const fit::GroupFit& g : groups)
    if (!is_fitted(g)) text += fmt::format("too few rows to fit: {} ({} rows)\n", g.name, g.rows.size());
  return text;
}

bool any(const std::vector<fit::GroupFit>& groups, bool wanted_links) {
  return std::any_of(groups.begin(), groups.end(),
                     [&](const fit::GroupFit& g) { return is_fitted(g) && of_links(g) == wanted_links; });
}

}  // namespace

const HardwareProfile* built_in_for(const std::string& device) {
  const std::string chip = device == "a800" ? "a100" : device == "h800" ? "h100" : device;
  return find_hardware_profile(chip);
}

std::string fit_report(const FitResult& result) {
  std::string text = fmt::format(
      "FFN time = c0 + c1 x tiles + c2 x activated experts (context: + ns x tokens, and at least the floor);\n"
      "link time = latency + bytes / rate. Fitted on half of each group's rows (seed {}); errors are\n"
      "|fitted - measured| / measured of the fitted half, of the held half, and of sizes no row of which was fitted.\n",
      result.seed);
  const auto add = [&](const std::string& part) {
    if (!part.empty()) text += "\n" + part;
  };
  if (any(result.groups, false)) {
    add(coefficients(result.groups));
    add(generalisation(result.groups));
  }
  if (any(result.groups, true)) add(links(result.groups));
  if (any(result.groups, false) || any(result.groups, true)) {
    add(by_table(result.groups));
    add(worst(result.groups));
  }
  add(crossover_report(result.groups));
  if (any(result.groups, false)) add(built_in(result.groups));
  add(suspects(result) + not_fitted(result.groups));
  return text;
}

}  // namespace afore::cli
