#include "fit/group_fit.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "util/rng.h"
#include "util/stats.h"

namespace afore::fit {
namespace {

constexpr std::size_t kPlainWidth = 3;  // 1, tiles, activated
constexpr std::uint64_t kFolds = 4;
constexpr double kDrawsOfARow = 5;

bool of_links(TableForm form) { return form == TableForm::nccl || form == TableForm::deepep; }
bool has_floor(TableForm form) { return form == TableForm::context; }
std::size_t width_of(TableForm form) {
  if (of_links(form)) return 2;
  return form == TableForm::context ? 4 : kPlainWidth;
}

Model fit_model(TableForm form, std::span<const Point> points) {
  return has_floor(form) ? fit_with_floor(points, width_of(form)) : fit_relative(points, width_of(form));
}

void work_out(GroupFit& group, std::int64_t tile_tokens, std::uint64_t seed) {
  group.tile_tokens = tile_tokens;
  for (FittedRow& row : group.rows) {
    row.work = expert_work(group.form, row.row, tile_tokens, seed);
    row.point.columns = {1, row.work.tiles, row.work.activated, group.form == TableForm::context ? row.row.size : 0};
  }
}

void split_halves(GroupFit& group, std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::size_t>> order;
  for (std::size_t i = 0; i < group.rows.size(); ++i)
    order.emplace_back(Rng(seed, "half|" + group.rows[i].row.key).next(), i);
  std::sort(order.begin(), order.end());
  for (std::size_t i = 0; i < order.size(); ++i) group.rows[order[i].second].held = i % 2 == 1;
}

template <class Keep>
std::vector<Point> points_of(const GroupFit& group, Keep&& keep) {
  std::vector<Point> points;
  for (const FittedRow& row : group.rows)
    if (keep(row)) points.push_back(row.point);
  return points;
}

std::vector<Point> used_points(const GroupFit& group) {
  return points_of(group, [](const FittedRow& row) { return !row.held; });
}

Errors errors_on(const GroupFit& group, const Model& model, bool held) {
  std::vector<double> errors;
  for (const FittedRow& row : group.rows)
    if (row.held == held) errors.push_back(relative_error(model, row.point));
  return errors_of(std::move(errors));
}

std::uint64_t fold_of(const FittedRow& row, std::uint64_t seed) {
  return Rng(seed, "size|" + std::to_string(row.row.size)).next() % kFolds;
}

Errors leave_sizes_out(const GroupFit& group, std::uint64_t seed) {
  std::vector<double> errors;
  for (std::uint64_t fold = 0; fold < kFolds; ++fold) {
    const std::vector<Point> rest = points_of(group, [&](const FittedRow& r) { return fold_of(r, seed) != fold; });
    if (rest.size() < group.parameters) continue;
    const Model model = fit_model(group.form, rest);
    for (const FittedRow& row : group.rows)
      if (fold_of(row, seed) == fold) errors.push_back(relative_error(model, row.point));
  }
  return errors_of(std::move(errors));
}

double draw_deviation(const GroupFit& group, const FittedRow& row) {
  const double c1 = group.model.c[1], c2 = group.model.c[2];
  const ExpertWork& w = row.work;
  const double variance = c1 * c1 * w.tiles_variance + c2 * c2 * w.activated_variance + 2 * c1 * c2 * w.covariance;
  return std::sqrt(std::max(0.0, variance) / kDrawsOfARow) / row.fitted_ns;
}

// The tile height under which the used half is fitted best; rows and model are left as that one has them.
void choose_tile(GroupFit& group, std::uint64_t seed) {
  std::int64_t best = 0;
  double best_sum = 0;
  const std::span<const std::int64_t> heights = tile_heights(group.form);
  for (const std::int64_t height : heights) {
    if (heights.size() == 1) break;
    work_out(group, height, seed);
    const std::vector<Point> used = used_points(group);
    const double sum = sum_of_errors(fit_model(group.form, used), used);
    if (best == 0 || sum < best_sum) best = height, best_sum = sum;
  }
  work_out(group, best == 0 ? heights.front() : best, seed);
}

void fit_group(GroupFit& group, std::uint64_t seed) {
  split_halves(group, seed);
  const std::size_t parameters = width_of(group.form) + (has_floor(group.form) ? 1 : 0);
  if (used_points(group).size() < 2 * parameters) return;
  if (!of_links(group.form)) choose_tile(group, seed);
  const std::vector<Point> used = used_points(group);
  group.parameters = parameters;
  group.model = fit_model(group.form, used);
  group.fitted = errors_on(group, group.model, false);
  group.held = errors_on(group, group.model, true);
  group.left_out = leave_sizes_out(group, seed);
  if (!of_links(group.form)) group.plain_held = errors_on(group, fit_relative(used, kPlainWidth), true);
  for (FittedRow& row : group.rows) {
    row.fitted_ns = group.model.predict(row.point.columns);
    row.error = relative_error(group.model, row.point);
    row.draw_deviation = draw_deviation(group, row);
  }
}

}  // namespace

Errors errors_of(std::vector<double> values) {
  Errors errors;
  errors.rows = values.size();
  errors.median = quantile(values, 0.5).value_or(0);
  errors.p90 = quantile(values, 0.9).value_or(0);
  errors.max = quantile(values, 1).value_or(0);
  return errors;
}

std::vector<GroupFit> fit_groups(const std::vector<MeasuredTable>& tables, std::uint64_t seed) {
  std::vector<GroupFit> groups;
  std::map<std::string, std::size_t> index;
  for (const MeasuredTable& table : tables)
    for (const MeasuredRow& row : table.rows) {
      const auto [at, added] = index.emplace(row.group, groups.size());
      if (added) {
        groups.emplace_back();
        groups.back().name = row.group;
        groups.back().device = table.device;
        groups.back().form = table.form;
      }
      FittedRow fitted;
      fitted.table = table.name;
      fitted.row = row;
      fitted.point = {.columns = {1, row.size, 0, 0}, .time_ns = row.time_ns};
      groups[at->second].rows.push_back(std::move(fitted));
    }
  for (GroupFit& group : groups) fit_group(group, seed);
  return groups;
}

}  // namespace afore::fit
