#pragma once
// Seeded random numbers that are the same on every machine: xoshiro256** (Blackman, Vigna 2018), seeded through
// splitmix64. A stream is named by (seed, label): streams of different labels are independent, so that adding a
// consumer of randomness never changes what the others draw.
#include <array>
#include <cstdint>
#include <string_view>

namespace afore {

class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::string_view label = {});

  std::uint64_t next();
  double uniform();                      // [0, 1), 53 bits
  std::uint64_t below(std::uint64_t n);  // unbiased in [0, n), n > 0
  double normal();                       // mean 0, variance 1
  double lognormal(double mu, double sigma);

 private:
  std::array<std::uint64_t, 4> state_;
  double spare_normal_ = 0;
  bool has_spare_ = false;
};

}  // namespace afore
