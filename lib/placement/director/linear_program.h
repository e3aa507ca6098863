#pragma once
// min cost*x over rows lower <= A x <= upper and 0 <= x <= limit, by COIN-OR CLP's dual simplex, which this file alone
// knows of. Numbers may change between solves; a solve then goes on from the last basis.
#include <limits>
#include <memory>
#include <span>
#include <vector>

namespace afore::placement::director {

inline constexpr double kInfinite = std::numeric_limits<double>::infinity();

struct Program {
  // Columns one after another: entries [start[j], start[j + 1]). Never 0 where an entry may later be anything else.
  std::vector<int> start{0}, row;
  std::vector<double> entry;
  std::vector<double> cost, limit;  // by column
  std::vector<double> row_lower, row_upper;

  void clear();
  int columns() const { return static_cast<int>(cost.size()); }
  int rows() const { return static_cast<int>(row_upper.size()); }
  void add_entry(int at, double value) {
    row.push_back(at);
    entry.push_back(value);
  }
  void end_column(double price, double most);
};

class LinearProgram {
 public:
  LinearProgram();
  ~LinearProgram();

  void load(const Program& program);  // forgets the basis
  // `program` has the shape of the loaded one. Ends early at the iteration limit, which dual_bound() does not mind.
  void solve(const Program& program);
  // No x that meets the rows costs less. Not what the solver says, but what its row prices prove: by weak duality any
  // prices give a bound, whatever the solver's tolerances; 1e-9 of the sums' terms is taken off for their rounding.
  double dual_bound() const { return bound_; }
  double value(int column) const;

 private:
  double prove(const Program& program);

  struct Engine;
  std::unique_ptr<Engine> engine_;
  double bound_ = 0;
};

}  // namespace afore::placement::director
