#pragma once
// Holds a run's records back until their step is over: which requests end in a step is known when its tokens are
// sampled, but its batch records, which say so, stand first. Records go out in the order in which they came.
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/records.h"

namespace afore::host {

class StepOutput {
 public:
  void begin(std::int64_t step) { ++under_way_[step]; }  // of one microbatch
  // A microbatch's step is over; `early`: the requests whose last token came before the most they had asked for.
  void end(std::int64_t step, int microbatch, std::vector<std::string> early);

  // `emit` is called when all microbatches of the step are over, with `batch` if there is one.
  void add(std::int64_t step, std::optional<Batch> batch, std::function<void(const Batch*)> emit);
  void release();      // what may go
  void release_all();  // the run is over

 private:
  struct Item {
    std::int64_t step = 0;
    std::optional<Batch> batch;
    std::function<void(const Batch*)> emit;
  };
  void emit_first();

  std::deque<Item> items_;
  std::map<std::int64_t, int> under_way_;  // microbatches that began a step and are not through it
  std::map<std::pair<std::int64_t, int>, std::vector<std::string>> early_;
};

}  // namespace afore::host
