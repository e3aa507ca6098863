#pragma once
// Which tokens run together: the composition of steps and microbatches from recorded requests. Pure and
// deterministic; one composer makes one workload, step after step.
#include <cstdint>
#include <span>
#include <vector>

namespace afore::batch {

// A recorded request: rows first_row … first_row + tokens - 1 of pool `pool` (a pool is one file, one domain).
struct Request {
  int pool = 0;
  std::int64_t prompt_tokens = 0;
  std::int64_t tokens = 0;  // > 0
  std::int64_t first_row = 0;
};

struct TokenRow {
  int pool = 0;
  std::int64_t row = 0;
};

// Consecutive rows of a step that are one request's.
struct RequestRows {
  std::int64_t id = 0;        // of its admission
  std::int64_t position = 0;  // of the first, among the request's tokens, prompt first
  std::int64_t tokens = 0;
};

// What one microbatch does in one step. Ids number the admissions of the whole workload from 0.
struct MicrobatchStep {
  std::vector<TokenRow> rows;         // one per token
  std::vector<RequestRows> requests;  // whose they are, in their order
  std::int64_t sequences = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t kv_tokens = 0;          // cached tokens read
  std::vector<std::int64_t> admitted;  // their first token of this workload is in this step
  std::vector<std::int64_t> finished;  // their last one is
};

class Composer {
 public:
  virtual ~Composer() = default;
  // Composes the next step, the first call step 0. Valid until the next call.
  virtual std::span<const MicrobatchStep> next_step() = 0;
  // Admissions so far of requests that had already been admitted before: what the file was too short for.
  virtual std::int64_t repeats() const = 0;
};

}  // namespace afore::batch
