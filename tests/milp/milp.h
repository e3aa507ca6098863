#pragma once
// A mixed-integer linear program, and CBC (COIN-OR branch and cut) run on it as a process of its own.
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace afore::test {

// Minimises one variable under linear rows. Variables are whole numbers from 0 on.
class Milp {
 public:
  int add_variable(std::int64_t most);
  void minimise(int variable) { objective_ = variable; }
  int variables() const { return static_cast<int>(most_.size()); }

  struct Term {
    int variable = 0;
    std::int64_t factor = 1;
  };
  void at_most(std::vector<Term> terms, std::int64_t limit) { rows_.push_back({std::move(terms), "<=", limit}); }
  void equal(std::vector<Term> terms, std::int64_t value) { rows_.push_back({std::move(terms), "=", value}); }

  std::string lp() const;  // CPLEX LP format; variable i is v<i>

 private:
  struct Row {
    std::vector<Term> terms;
    const char* sense = "<=";
    std::int64_t limit = 0;
  };
  std::vector<std::int64_t> most_;  // by variable
  std::vector<Row> rows_;
  int objective_ = 0;
};

struct MilpAnswer {
  enum class State { optimal, infeasible, stopped };
  State state = State::stopped;
  double bound = 0;            // no solution is below it
  std::vector<double> values;  // by variable; empty = no solution was found
};

class Cbc {
 public:
  Cbc();
  ~Cbc();
  Cbc(const Cbc&) = delete;
  Cbc& operator=(const Cbc&) = delete;

  static bool installed();
  // Ends at `nodes` or `seconds`, whichever is first. Throws std::runtime_error when CBC fails or cannot be read.
  MilpAnswer solve(const Milp& problem, int nodes, double seconds) const;

 private:
  std::filesystem::path folder_;
};

}  // namespace afore::test
