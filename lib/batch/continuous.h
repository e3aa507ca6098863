#pragma once
// Decode by continuous batching: a constant number of live requests, each of which advances one token per step.
//
// A slot belongs to one microbatch (slot s to microbatch s mod M, so the first ones get one more when N is not
// divisible) and holds one request; when it finishes, the slot takes the next one in file order from its first recorded
// token. At the start every slot's request is somewhere in its middle (seeded), so that finishes spread out. Once a
// file's requests are used up they repeat, each time from another seeded row, wrapping within the request's own rows:
// 3,000 live requests out of 200 recorded ones are then at 3,000 different places. A repeated request still grows from
// its prompt: kv_tokens counts prompt_tokens plus the tokens it has generated, not the row it reads.
//
// Of a phase with several pools, slot k of a microbatch draws from pool k mod P (shifted by the microbatch), so live
// requests are shared evenly at every step. At a change of pools `abrupt` ends all live requests and refills every slot
// as at the start; `gradual` lets them finish, and only their successors come from the new pools.
#include <cstdint>
#include <span>
#include <vector>

#include "batch/composer.h"
#include "batch/phases.h"
#include "batch/request_queue.h"
#include "util/rng.h"

namespace afore::batch {

enum class PhaseChange { abrupt, gradual };

struct ContinuousOptions {
  int concurrent = 0;    // live requests, at least `microbatches`
  int microbatches = 0;  // at least 1
  PhaseChange change = PhaseChange::abrupt;
  std::uint64_t seed = 0;
};

class ContinuousComposer final : public Composer {
 public:
  ContinuousComposer(std::span<const Request> requests, PhaseSchedule schedule, const ContinuousOptions& options);

  std::span<const MicrobatchStep> next_step() override;
  std::int64_t repeats() const override { return queue_.repeats(); }

 private:
  struct Slot {
    const Request* request = nullptr;
    std::int64_t start_row = 0;  // within the request
    std::int64_t generated = 0;  // tokens before this step
    std::int64_t id = 0;
    bool fresh = false;  // not yet in any step
  };

  void refill(std::size_t slot, bool staggered);
  void run(Slot& slot, MicrobatchStep& out);

  PhaseSchedule schedule_;
  ContinuousOptions options_;
  RequestQueue queue_;
  Rng stagger_, offset_;
  std::vector<Slot> slots_;
  std::vector<MicrobatchStep> steps_;
  std::int64_t step_ = 0;
  std::int64_t next_id_ = 0;
};

}  // namespace afore::batch
