#pragma once
// --worker and --pin-experts: what sets FFN workers apart, and experts that are never copied.
#include <cstdint>
#include <string>
#include <vector>

#include "core/model_spec.h"

namespace afore::cli {

// Of `workers` FFN workers, from specs like "3:slow=1.5,link=0.5,drain": `slow` is a factor on its FFN times (0.1 to
// 100), `link` its share of the copy rate (0.01 to 10), both kept in thousandths; `drain` empties it. Empty where no
// spec is given or none changes anything. Error{usage} quotes the spec.
std::vector<WorkerTraits> parse_worker_traits(const std::vector<std::string>& specs, std::int64_t workers);

// "0,5-7", ascending. `experts` may be kAbsent: then the planner refuses those beyond what there are.
std::vector<int> parse_pinned(const std::string& list, std::int64_t experts);

}  // namespace afore::cli
