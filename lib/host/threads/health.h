#pragma once
// How an engine does at one moment, for whoever decides whether it can take work (lib/http/watchdog.h).
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/cost_model.h"
#include "core/ids.h"

namespace afore::host {

struct EngineHealth {
  struct AwaitedPlan {
    Target target;
    Nanos since_ns = 0;  // when its demand was whole and its turn had come
  };
  struct MovingCopy {
    Copy copy;
    int layer = 0;
    Nanos since_ns = 0;
  };

  std::optional<AwaitedPlan> awaited_plan;  // of the target that is next in the stream; none: no plan is asked for
  std::int64_t waiting_targets = 0;         // whose demand is whole, and their plans are not out: that one included
  std::optional<Nanos> last_plan_ns;        // when workers could take the last plan; none was made yet: absent
  std::optional<MovingCopy> oldest_copy;    // of those under way
  std::vector<std::int64_t> ffn_queue;      // by FFN worker: targets that have a plan, and it has not computed
  std::string failure;                      // the first failure of a thread: "the scheduler died: ..."; empty: none
};

}  // namespace afore::host
