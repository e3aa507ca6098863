#pragma once
// One set of coefficients per group of rows: fitted on half of them, judged on the other half and on whole sizes that
// were left out.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/measured.h"
#include "fit/expert_work.h"
#include "fit/relative_fit.h"

namespace afore::fit {

struct Errors {  // relative; 0 without rows
  std::size_t rows = 0;
  double median = 0, p90 = 0, max = 0;  // nearest rank
};
Errors errors_of(std::vector<double> values);

struct FittedRow {
  std::string table;
  MeasuredRow row;
  ExpertWork work;  // of grouped products
  Point point;
  bool held = false;  // not used in the fit
  double fitted_ns = 0;
  double error = 0;  // |fitted - measured| / measured
  // Relative deviation of a mean of five draws, as the collector takes, by the fitted coefficients; 0 if none is drawn.
  double draw_deviation = 0;
};

struct GroupFit {
  std::string name, device;
  TableForm form = TableForm::generation;
  std::vector<FittedRow> rows;  // in the tables' order
  // Columns: 1, tiles, activated experts and, for context, tokens; of links 1 and bytes.
  Model model;
  std::int64_t tile_tokens = 0;  // of grouped products: the kernel's tile height with the least error on the used half
  std::size_t parameters = 0;    // continuous ones; 0 = too few rows, not fitted
  Errors fitted, held;           // of `model` on the rows used and on the others
  Errors left_out;               // every row predicted by a fit that saw no row of its size
  Errors plain_held;             // of c0 + c1·tiles + c2·experts alone, fitted on the same half
};

// Groups in the tables' order. Halves: rows of a group ordered by a hash of (seed, key), every second one is held.
// Groups with fewer than two used rows per parameter are not fitted.
std::vector<GroupFit> fit_groups(const std::vector<MeasuredTable>& tables, std::uint64_t seed);

}  // namespace afore::fit
