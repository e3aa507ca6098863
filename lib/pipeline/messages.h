#pragma once
// What the four actors tell each other and ask of their host. Control only: tensors move as operations that the
// host's device orders (lib/device). Every message names its target, so a stale or misrouted one is recognised.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/records.h"

namespace afore::pipeline {

// One attention worker's part of a target: the Coordinator's order to run it. Items arrive in stream order and are
// run in that order.
struct WorkItem {
  enum class Kind { attention, sampling };
  Kind kind = Kind::attention;
  Target target;               // sampling: layer is that of the step's last target
  bool first_in_step = false;  // no FFN output of this step precedes it
  Target previous;             // the microbatch's preceding target of this step, when !first_in_step
  std::int64_t tokens = 0;     // of this worker
  std::int64_t kv_tokens = 0;
};

// What a worker needs of one plan, shared by all and immutable after publication.
struct PublishedPlan {
  // Of an expert's tokens of the target, numbered from 0 in one order on all workers, those from `first` on. The shares
  // of an expert cut its numbers without gap or overlap: its workers in rank order, the primary last; those of a
  // virtual plan, which has no primaries, in rank order.
  struct Share {
    int expert = 0;
    std::int64_t tiles = 0;
    std::int64_t tokens = 0;
    std::int64_t first = 0;
  };
  Plan plan;
  Phase phase = Phase::decode;
  std::int64_t tokens = 0;
  std::int64_t serial = 0;                         // position in stream order, from 0
  std::vector<Share> shares;                       // worker-major
  std::vector<std::size_t> share_begin;            // workers + 1 offsets into shares
  std::vector<std::int64_t> tiles, worker_tokens;  // per worker

  std::span<const Share> of(int worker) const {
    return std::span(shares).subspan(share_begin[worker], share_begin[worker + 1] - share_begin[worker]);
  }
};
using PlanPtr = std::shared_ptr<const PublishedPlan>;

// The tokens of each entry of the plan's assignment, as the policy splits them or by the rule of docs/records.md, into
// `tokens`, whose capacity is kept. `placement`: what stands after the plan's copies; for virtual plans any map.
void find_token_shares(const Plan& plan, std::span<const std::int64_t> counts, std::int64_t tile_tokens,
                       const LayerPlacement& placement, std::vector<TokenShare>& tokens);

// The plan as workers read it, each its own shares; a ring publishes it. `placement` as above.
PlanPtr make_published(Plan plan, const Demand& demand, std::int64_t serial, std::int64_t tile_tokens, int workers,
                       const LayerPlacement& placement);

// One FFN worker's times for one target (docs/metrics.md).
struct WorkerTimes {
  Nanos ffn_ns = 0;
  Nanos migration_ns = 0;  // copy_end - t_plan over copies the target waited for; 0 without
  Nanos window_ns = 0;     // t_free - t_plan
  Nanos exposed_ns = 0;
  Nanos slot_wait_ns = 0;
};

}  // namespace afore::pipeline
