#pragma once
// Re-checks a stream of records from first principles, sharing no code with the planner: what a plan claims is
// recomputed from the demand, the header and the copies before it.
#include <cstdint>
#include <memory>
#include <string>

#include "core/records.h"

namespace afore::verify {

// Feed records in stream order. The first violation throws Error{answer_no} with a line like
// "step 17 layer 3 microbatch 1: copy 2 overwrites slot 17 of worker 3, which has work in step 16 microbatch 2".
class Verifier {
 public:
  Verifier();
  ~Verifier();
  void feed(const Record& record);
  void finish();  // a demand whose plan never came, in a planned stream

  struct Counts {
    std::int64_t demands = 0, plans = 0, copies = 0, certified = 0, cuts = 0, observed = 0;
  };
  const Counts& counts() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace afore::verify
