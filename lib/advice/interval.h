#pragma once
// How far a measured gain may be luck of the trace: a confidence interval for a ratio of two times from paired,
// disjoint blocks of one run (batch means; Law, Simulation Modeling and Analysis, 5th ed., sections 9.5.3 and 10.2).
#include <span>

namespace afore::advice {

struct Interval {
  double gain = 0;             // sum of base / sum of other - 1
  double low = 0, high = 0;    // of the gain; equal to it where all blocks agree
  int blocks = 0, better = 0;  // better: blocks in which `other` took less time
  double correlation = 0;      // of neighbouring blocks' residuals; above 0 it widens the interval
};

// `base` and `other`: times of the same blocks of steps, one way and the other; equal lengths, at least 3, all above 0.
// Ratio estimator R = sum(base) / sum(other), residuals e = base - R * other, standard error
// sqrt(sum(e^2) / (n (n - 1))) / mean(other), Student's t at two-sided `confidence`.
// Blocks that follow each other in one direction are no independent samples. With c the lag-1 correlation of e, which
// of few blocks is too low by about (1 + 3 c) / n (Marriott and Pope, Biometrika 41, 1954), r = c + (1 + 3 c) / n,
// within 0 and 0.9: the error is multiplied by sqrt((1 + r) / (1 - r)), and n (1 - r) / (1 + r) - 1 degrees of freedom
// are left, 2 at least: an AR(1) process. A trace much shorter than its memory remains one sample whatever is done with
// it.
Interval gain_interval(std::span<const double> base, std::span<const double> other, double confidence);

// x with P(|T| <= x) = confidence, T of Student's distribution; within 1e-6. `confidence` in (0, 1).
double student_t(int degrees, double confidence);

}  // namespace afore::advice
