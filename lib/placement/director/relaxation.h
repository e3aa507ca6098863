#pragma once
// The linear relaxation at a target T: whether some fractional plan has an objective of at most T.
//
// x(e,w) in [0, 1] is the share of expert e's tiles on worker w, for workers where it stands or may be copied. No plan
// within T has more than u(e,w) of e's n(e) tiles there, what is confined to w considered, so that the part is active
// by at least a(e,w) = x*n/u; a copy is made by as much. With c2 counted by a(e,w) compute is linear. Rows:
//   every expert whole; per worker compute <= C, copies and replicas they would overwrite <= open slots; all copies <=
//   budget; with a link rows <= M. Minimise C + M.
// At T itself tiles and active experts of a worker are whole numbers: rows for edges of the convex hull of the pairs
// that fit are added (only without a link, where C may stand for T). They and u make the relaxation tighter than a
// linear program without a target. Columns with u < 1 are left out (Lenstra, Shmoys, Tardos 1990).
#include <cstdint>
#include <span>
#include <vector>

#include "placement/director/hull.h"
#include "placement/director/instance.h"
#include "placement/director/linear_program.h"

namespace afore::placement::director {

// A copy the fractional plan would like: `copy` in (0, 1] of one, with `share` of the expert's work.
struct Wish {
  int expert = 0, worker = 0;
  double copy = 0, share = 0;
};

class Relaxation {
 public:
  void reset(const Instance& instance);
  // True: no plan has an objective of `target` or less, which dual prices prove. Solves one linear program, from the
  // last one's basis.
  bool refutes(std::int64_t target);
  // Of the last program solved, most wanted first.
  void wishes(std::vector<Wish>& wishes) const;
  int solves() const { return solves_; }

 private:
  struct Column {
    int expert = 0, worker = 0;
    bool home = false, copy = false, evictable = false;
    bool alone = false;  // the expert can be nowhere else
    double part = 1;     // n / u at the present target
  };
  void list_columns();
  void list_rows();
  void add_columns();
  void price(std::int64_t target);
  void price_column(int index, std::int64_t target);
  std::int64_t most_tiles(const Column& column, std::int64_t room) const;

  const Instance* instance_ = nullptr;
  std::vector<Column> columns_;
  std::vector<std::int64_t> fixed_tiles_, fixed_active_;  // by worker, of experts that can be nowhere else
  std::vector<int> columns_on_;
  std::vector<Hull> hulls_;  // by worker
  int first_load_ = 0, first_slot_ = 0, budget_row_ = 0, first_link_ = 0, first_column_ = 0;
  Program numbers_;
  LinearProgram program_;
  int solves_ = 0;
};

}  // namespace afore::placement::director
