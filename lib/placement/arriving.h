#pragma once
// Replicas that arrive: the map has them since the plan that copies them, and no target uses them before their copies
// are done, as far as can be told.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/policy.h"

namespace afore::placement {

struct Arriving {
  int expert = 0, worker = 0, slot = 0;
  Nanos end_ns = 0;       // of its copy, on a clock of predicted times
  std::int64_t step = 0;  // that the copy was sent in
};

class WithoutArriving {
 public:
  // What is asked, as if `arriving` were not there: their slots are empty and closed, and their experts not copied once
  // more. An entry is passed over whose slot has been overwritten, or that is the one replica which a loss has left.
  // Refers to what `asked` does, and to buffers of this until the next call.
  Request request(const Request& asked, std::span<const Arriving> arriving);
  std::span<const ReplicaAt> unready() const { return unready_; }  // that the last request leaves out, in their order

 private:
  std::optional<LayerPlacement> placement_;
  std::vector<std::uint8_t> closed_, pinned_;
  std::vector<ReplicaAt> unready_;
};

}  // namespace afore::placement
