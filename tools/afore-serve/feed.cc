#include "afore-serve/feed.h"

#include <fmt/format.h>

#include "util/error.h"

namespace afore::serve {
void Feed::release(const Plan* plan) {
  if (!held_) return;
  const Demand demand = std::move(*held_);
  held_.reset();
  const auto batch = batches_.find(demand.target.microbatch);
  const bool matches = batch != batches_.end() && batch->second.step == demand.target.step;
  if (matches && batch->second.prefill_tokens > demand.tokens)
    throw Error(ErrorKind::data,
                fmt::format("{}: step {} microbatch {}: its batch has {} prefill tokens, its demand {} tokens",
                            stream_.lines().name(), demand.target.step, demand.target.microbatch,
                            batch->second.prefill_tokens, demand.tokens),
                "a demand's tokens are prefill tokens and one per decoding sequence");
  handler_.target(demand, matches ? &batch->second : nullptr, plan);
}

void Feed::run() {
  while (input_.next()) {
    const Record& record = input_.record();
    const auto* header = std::get_if<Header>(&record);
    if (!begun_) {
      begun_ = true;
      handler_.begin(header != nullptr ? std::optional<Header>(*header) : std::nullopt, input_.raw());
      if (header != nullptr) continue;
    }
    const auto* plan = std::get_if<Plan>(&record);
    if (plan != nullptr && embedded_ && !held_)
      throw Error(
          ErrorKind::data,
          fmt::format("{}:{}: a plan without the demand it answers", stream_.lines().name(), stream_.line_number()),
          "a plan follows its demand; keep the order of afore-plan's output");
    handler_.pass(input_.raw(), record);
    // A placement between a demand and its plan is the map that plan starts from.
    if (const auto* placement = std::get_if<PlacementRecord>(&record)) {
      handler_.placement(*placement);
      continue;
    }
    if (const auto* prediction = std::get_if<Prediction>(&record)) {
      handler_.prediction(*prediction);
      continue;
    }
    release(plan);  // nothing is held where plans are not the stream's
    if (const auto* demand = std::get_if<Demand>(&record)) held_ = *demand;
    if (held_ && !embedded_) release(nullptr);
    if (const auto* batch = std::get_if<Batch>(&record)) batches_[batch->microbatch] = *batch;
  }
  release(nullptr);
}

}  // namespace afore::serve
