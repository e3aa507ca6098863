#pragma once
// Prefill in chunks: requests one after the other in file order, cut into chunks of equal size; a step takes one chunk
// per microbatch. Recorded rows stand for prompt tokens. kv_tokens of a chunk counts, for each request in it, the rows
// of that request that earlier chunks have put into its cache. After the last request the file starts again.
//
// Of a phase with several pools, requests alternate between them; a change of pools drops what is left of the request
// at hand.
#include <cstdint>
#include <span>
#include <vector>

#include "batch/composer.h"
#include "batch/phases.h"
#include "batch/request_queue.h"

namespace afore::batch {

struct PrefillOptions {
  std::int64_t chunk_tokens = 0;  // per microbatch and step, at least 1
  int microbatches = 0;           // at least 1
};

class PrefillComposer final : public Composer {
 public:
  PrefillComposer(std::span<const Request> requests, PhaseSchedule schedule, const PrefillOptions& options);

  std::span<const MicrobatchStep> next_step() override;
  std::int64_t repeats() const override { return queue_.repeats(); }

 private:
  void admit();
  void fill(MicrobatchStep& out, bool last_of_phase);

  PhaseSchedule schedule_;
  PrefillOptions options_;
  RequestQueue queue_;
  const Request* current_ = nullptr;  // nullptr: none at hand
  std::int64_t position_ = 0;         // rows of it already done
  std::int64_t id_ = -1;
  std::size_t turn_ = 0;  // which pool of the phase is next
  std::vector<MicrobatchStep> steps_;
  std::int64_t step_ = 0;
};

}  // namespace afore::batch
