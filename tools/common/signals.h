#pragma once
// How a run is ended from outside.
#include <cstdint>

#include "util/stop_flag.h"

namespace afore::cli {

// SIGINT, SIGTERM and SIGHUP (unless ignored) set the flag (to the signal's number) once; the second one ends the
// process at once. Without this call a signal ends a filter quietly, as the shell expects.
const StopFlag* catch_interrupts();
// A first signal is how this command is asked to end: if it does, that is exit 0.
void signals_end_well();
// Sets the same flag after so many seconds, once, to end what would go on: no interruption, and no exit code of one.
void limit_time(std::int64_t seconds);
bool time_is_up();  // the limit has set it

// The signal that catch_interrupts() recorded, 0 when none came that counts.
int caught_signal();

}  // namespace afore::cli
