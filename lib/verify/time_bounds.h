#pragma once
// Bounds on times without c0, by the header's rule and what sets workers apart. A worker that may take T does work of
// at most T * 1000 / slowness: taken by the fastest worker's slowness it holds for all, and all together do no more
// than the sum of theirs. Under the roofline rule each term alone has to fit.
#include <cstdint>
#include <optional>
#include <vector>

#include "verify/bounds.h"
#include "verify/state.h"

namespace afore::verify {

class TimeBounds {
 public:
  // As Bounds; all of it must outlive this.
  TimeBounds(const Facts& facts, const Counts& tiles, const std::vector<std::vector<int>>& holders,
             const Counts& open_slots, std::int64_t copy_budget);
  TimeBounds(const TimeBounds&) = delete;

  // What every policy's bound must reach: all work spread evenly over workers that are like the fastest.
  Nanos volume() const;
  std::int64_t total() const;  // all work, of a worker that is not slowed; of the larger term under the roofline rule
  // True: no plan within the limits takes `time` or less.
  bool refutes(Nanos time) const;

 private:
  struct Form {
    Counts sizes;
    Nanos c1_ns = 0, c2_ns = 0;
    std::int64_t total = 0;
    std::optional<Bounds> bounds;
  };
  void add_form(Nanos c1_ns, Nanos c2_ns);
  bool refutes(const Form& form, Nanos work) const;

  const Facts& facts_;
  const Counts& tiles_;
  std::vector<Form> forms_;
};

}  // namespace afore::verify
