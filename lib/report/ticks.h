#pragma once
// Where axes have their marks, and how numbers read on them.
#include <cstdint>
#include <string>
#include <vector>

namespace afore::report {

struct Ticks {
  std::vector<double> values;  // ascending
  int decimals = 0;            // that all of them need
};

// Multiples of 1, 2 or 5 times a power of ten within [lo, hi], `most` (>= 2) of them at most.
Ticks linear_ticks(double lo, double hi, int most);
// 1, 2, 5 times powers of ten within [lo, hi] (0 < lo < hi); powers of ten alone where those are more than `most`.
Ticks log_ticks(double lo, double hi, int most);
// Of `count` things counted from 0: every k-th, k from 1, 2, 4, 8 ... so that at most `most` are named.
std::vector<int> index_ticks(int count, int most);

// With `decimals`, thousands set apart by commas: 12,345.6.
std::string fixed(double value, int decimals);
std::string grouped(std::int64_t value);
// Three significant digits for reading, not for computing: 0.0123, 1.23, 123, 12,345, 12.3M.
std::string brief(double value);

struct Unit {
  double size;       // in the base unit
  const char* name;  // "us", "GiB"
};
Unit time_unit(double ns);     // so that `ns` reads as 1 or more: ns, us, ms, s
Unit byte_unit(double bytes);  // B, KiB, MiB, GiB, TiB

}  // namespace afore::report
