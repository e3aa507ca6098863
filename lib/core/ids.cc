#include "core/ids.h"

namespace afore {

const char* to_string(Phase phase) {
  switch (phase) {
    case Phase::decode: return "decode";
    case Phase::prefill: return "prefill";
    case Phase::mixed: return "mixed";
    case Phase::warmup: return "warmup";
  }
  return "?";
}

const char* to_string(Objective objective) { return objective == Objective::time ? "time" : "tiles"; }

}  // namespace afore
