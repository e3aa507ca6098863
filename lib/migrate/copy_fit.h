#pragma once
// The two numbers of a cost file that copies decide, from measured copy times.
#include <span>

#include "core/ids.h"
#include "migrate/copy_bench.h"

namespace afore::migrate {

struct CopyFit {
  Nanos latency_ns = 0;
  double bytes_per_s = 0;
  double worst_relative_error = 0;  // largest |fit - measured| / measured over the sizes
};

// time(size) = latency + size / rate for one copy through one port, by least squares of the relative error of the
// median times, so that every size counts alike; the latency is held at 0 or more. Needs two sizes. Error{answer_no}
// when times do not grow with size.
CopyFit fit_copy_time(std::span<const CopyPoint> points);

}  // namespace afore::migrate
