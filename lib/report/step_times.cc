#include "report/step_times.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace afore::report {
namespace {

constexpr std::int64_t kStepsKept = 4;  // steps of one microbatch that may still get records

}  // namespace

void StepTimes::add(const Batch& batch) {
  Step& step = microbatches_[batch.microbatch].steps[batch.step];
  step.has_batch = true;
  step.prefill_tokens = batch.prefill_tokens;
  step.sampled = batch.sampled;
  if (serves_requests_) return;
  step.admitted = batch.admitted;
  step.finished = batch.finished;
}

void StepTimes::add(const Demand& demand) {
  Microbatch& microbatch = microbatches_[demand.target.microbatch];
  Step& step = microbatch.steps[demand.target.step];
  if (step.known) return;  // its first layer said it all
  step.known = true;
  step.warmup = demand.phase == Phase::warmup;
  step.tokens = demand.tokens;
  settle(microbatch, demand.target.step - kStepsKept);
}

void StepTimes::add_sampling(std::int64_t step, int microbatch, Nanos end_ns) {
  Nanos& end = microbatches_[microbatch].steps[step].end_ns;
  end = std::max(end, end_ns);
}

void StepTimes::finish() {
  for (auto& [index, microbatch] : microbatches_) settle(microbatch, std::numeric_limits<std::int64_t>::max());
}

void StepTimes::settle(Microbatch& microbatch, std::int64_t before) {
  while (!microbatch.steps.empty() && microbatch.steps.begin()->first < before) {
    close(microbatch, microbatch.steps.begin()->first, microbatch.steps.begin()->second);
    microbatch.steps.erase(microbatch.steps.begin());
  }
}

void StepTimes::close(Microbatch& microbatch, std::int64_t number, const Step& done) {
  if (done.end_ns < 0) return;
  const Nanos last = std::exchange(microbatch.last_end_ns, done.end_ns);
  if (done.warmup || !done.known) return;
  if (last >= 0) step_length.add(done.end_ns - last);
  if (!done.has_batch) return;
  // A decoding request got its last token in the step before; one whose prompt ends here has no gap.
  const bool by_sampled = !serves_requests_ && done.sampled != kAbsent;
  if (last >= 0) itl.add(done.end_ns - last, by_sampled ? done.sampled : done.tokens - done.prefill_tokens);
  for (const std::string& id : done.admitted) open_[id] = {number, done.end_ns};
  for (const std::string& id : done.finished) {
    const auto request = open_.find(id);
    if (request == open_.end()) continue;
    if (number > request->second.step)
      tpot.add((done.end_ns - request->second.first_token_ns) / (number - request->second.step));
    open_.erase(request);
  }
}

}  // namespace afore::report
