#pragma once
// The values of a cost file that benchmarks of copies and of expert FFN decide.
#include <cstdint>
#include <span>

#include "core/cost_model.h"
#include "fit/relative_fit.h"

namespace afore::fit {

// By the smallest sum of squared relative errors, coefficients of 0 or more: sizes of all magnitudes count alike, where
// plain squares would be decided by the largest.

struct MeasuredCopy {
  std::int64_t size_bytes = 0;
  double ns = 0;  // of one copy through one port
};
struct CopyFit {
  Nanos latency_ns = 0;
  double bytes_per_s = 0;
  FitQuality quality;
};
// time = latency + size / rate. Needs two sizes. Error{answer_no} when times do not grow with size.
CopyFit fit_copies(std::span<const MeasuredCopy> copies);

struct MeasuredFfn {
  std::int64_t tiles = 0, activated = 0;
  double ns = 0;
};
struct FfnFit {
  Nanos c0_ns = 0, c1_ns = 1, c2_ns = 1;  // c1 and c2 of at least 1, as a cost file has them
  FitQuality quality;                     // of these whole numbers
};
// time = c0 + c1 tiles + c2 activated experts. Needs three points in which the two differ. Error{answer_no} when times
// do not grow with either.
FfnFit fit_ffn(std::span<const MeasuredFfn> runs);

}  // namespace afore::fit
