#pragma once
// One attention worker's part of one microbatch's step, as hosts and every device know it. A device adds what it
// computes (Attention::make_step()).
#include <cstdint>
#include <vector>

namespace afore::device {

struct SamplingOptions {
  double temperature = 0;  // 0: the largest logit, the lowest id of equal ones
  double top_p = 1;        // the fewest likeliest tokens whose probabilities reach it
  std::uint64_t seed = 0;  // of the request
};

// Consecutive tokens of one sequence.
struct Slice {
  std::vector<std::int32_t>* pages = nullptr;  // the sequence's
  std::int64_t first = 0;                      // position of its first token
  std::int64_t tokens = 0;
  bool samples = false;  // the last token's logits choose the next one
  SamplingOptions sampling;
  std::uint64_t sample_index = 0;
};

struct Step {
  virtual ~Step() = default;

  // By who composes steps, between them:
  std::vector<Slice> slices;
  std::vector<int> slots;      // by slice: the request, as who composes steps knows it
  std::vector<int> token_ids;  // of all slices, in order
  // By the device:
  std::vector<std::int64_t> counts;  // of the last gate, by expert
  std::vector<int> sampled;          // by slice; -1 where it does not sample

  std::int64_t tokens() const { return static_cast<std::int64_t>(token_ids.size()); }
};

}  // namespace afore::device
