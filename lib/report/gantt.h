#pragma once
// Who did what when: a row per worker, its lanes below each other.
#include <optional>
#include <string>
#include <utility>

#include "report/canvas.h"
#include "report/table.h"
#include "report/timeline.h"

namespace afore::report {

// From, to; nanoseconds since the step began.
using TimeWindow = std::pair<Nanos, Nanos>;

// The step's own operations in full colour, its neighbours' pale. Without a window: all of the step, or of one with
// very many targets a part from its first copy on. Of very many workers some are drawn: those with most copies, and
// others evenly spaced. The timeline has slices; Error{usage} when none is within the window.
Canvas gantt(const Timeline& timeline, const std::optional<TimeWindow>& window, const std::string& subtitle);
Table gantt_data(const Timeline& timeline);     // an operation per row, of everything in the timeline
Table gantt_figures(const Timeline& timeline);  // per worker, what its lanes were busy with in the step

}  // namespace afore::report
