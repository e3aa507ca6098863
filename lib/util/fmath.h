#pragma once
// exp, log and log-gamma made of + - * /, sqrt, floor and bit operations only, so that a seed gives the same bytes with
// every C library and at every optimisation level. Within 3 units in the last place of the true value (tested against
// the C library), except log_gamma, whose error is absolute near its zeros at 1 and 2.
#include <cstdint>

namespace afore::fmath {

double exp(double x);                  // 0 below -745.2, infinity above 709.8
double log(double x);                  // -infinity at 0, NaN below
double log1p(double x);                // log(1 + x), accurate for small x
double pow(double x, double y);        // x > 0
double log_gamma(double x);            // x > 0
double log_factorial(std::int64_t n);  // log(n!), n >= 0

}  // namespace afore::fmath
