#include "placement/director/linear_program.h"

#include <algorithm>
#include <cmath>
#include <coin/ClpSimplex.hpp>

#include "util/error.h"

namespace afore::placement::director {
namespace {

constexpr int kIterationsPerRow = 40;

}  // namespace

struct LinearProgram::Engine {
  std::unique_ptr<ClpSimplex> model;
  std::vector<double> price;
};

void Program::clear() {
  start.assign(1, 0);
  for (auto* list : {&entry, &cost, &limit, &row_lower, &row_upper}) list->clear();
  row.clear();
}

void Program::end_column(double price, double most) {
  start.push_back(static_cast<int>(row.size()));
  cost.push_back(price);
  limit.push_back(most);
}

LinearProgram::LinearProgram() : engine_(std::make_unique<Engine>()) {}
LinearProgram::~LinearProgram() = default;

// A new model each time: what CLP remembers of an earlier one must not show.
void LinearProgram::load(const Program& program) {
  engine_->model = std::make_unique<ClpSimplex>();
  ClpSimplex& model = *engine_->model;
  model.setLogLevel(0);
  const std::vector<double> lower(program.columns(), 0);
  model.loadProblem(program.columns(), program.rows(), program.start.data(), program.row.data(), program.entry.data(),
                    lower.data(), program.limit.data(), program.cost.data(), program.row_lower.data(),
                    program.row_upper.data());
  model.scaling(0);
  model.setPerturbation(100);
  model.setMaximumIterations(kIterationsPerRow * (program.rows() + 100));
}

void LinearProgram::solve(const Program& program) {
  ClpSimplex& model = *engine_->model;
  AFORE_CHECK(model.getNumElements() == std::ssize(program.entry), "the program has another shape");
  std::copy(program.entry.begin(), program.entry.end(), model.matrix()->getMutableElements());
  std::copy(program.limit.begin(), program.limit.end(), model.columnUpper());
  std::copy(program.cost.begin(), program.cost.end(), model.objective());
  std::copy(program.row_lower.begin(), program.row_lower.end(), model.rowLower());
  std::copy(program.row_upper.begin(), program.row_upper.end(), model.rowUpper());
  model.dual();
  engine_->price.assign(model.dualRowSolution(), model.dualRowSolution() + program.rows());
  bound_ = prove(program);
}

double LinearProgram::value(int column) const { return engine_->model->primalColumnSolution()[column]; }

double LinearProgram::prove(const Program& program) {
  double bound = 0, terms = 0;
  std::vector<double>& price = engine_->price;
  for (int i = 0; i < program.rows(); ++i) {
    const double side = price[i] > 0 ? program.row_lower[i] : program.row_upper[i];
    if (!std::isfinite(side) || !std::isfinite(price[i])) price[i] = 0;
    if (price[i] == 0) continue;
    bound += price[i] * side;
    terms += std::abs(price[i] * side);
  }
  for (int j = 0; j < program.columns(); ++j) {
    double reduced = program.cost[j], size = std::abs(reduced);
    for (int k = program.start[j]; k < program.start[j + 1]; ++k) {
      const double term = price[program.row[k]] * program.entry[k];
      reduced -= term;
      size += std::abs(term);
    }
    reduced -= 1e-12 * size;
    if (reduced >= 0) continue;
    bound += reduced * program.limit[j];
    terms += std::abs(reduced * program.limit[j]);
  }
  return bound - 1e-9 * terms;
}

}  // namespace afore::placement::director
