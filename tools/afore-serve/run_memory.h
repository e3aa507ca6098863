#pragma once
// What a run takes of memory, told before it is taken: asked for by touching it, it would end the machine's patience
// instead of the run.
#include <cstdint>

#include "common/planning.h"
#include "nn/config.h"

namespace afore::serve {

struct RunMemory {
  std::int64_t weights_bytes = 0;  // of attention, dense layers and shared experts: once on processors
  std::int64_t arena_bytes = 0;    // of one FFN worker
  std::int64_t arenas = 0;
  std::int64_t everywhere_bytes = 0;  // experts that plans need no slot for
  std::int64_t token_bytes = 0;       // cached keys and values of one token
  std::int64_t caches = 0;            // attention workers

  double weights() const;  // all but the caches, bytes
  double cache(std::int64_t kv_budget_tokens) const;
};

// `threads`: workers with arenas of their own; otherwise the model in one piece.
RunMemory run_memory(const nn::ModelConfig& config, const cli::Setup& setup, bool threads);

// Error{io} when the machine has less than that; `made_up`: --layers can make it smaller.
void refuse_beyond_memory(const RunMemory& memory, std::int64_t kv_budget_tokens, bool made_up);

// The same of GPUs, where it is certain: each worker lies on one of them. `free_bytes`: of the one that has least.
void refuse_beyond_gpu(const RunMemory& memory, std::int64_t kv_budget_tokens, bool made_up, std::int64_t free_bytes);

}  // namespace afore::serve
