#include "util/rng.h"

#include <bit>
#include <cmath>

#include "util/error.h"
#include "util/fmath.h"

namespace afore {
namespace {

std::uint64_t splitmix64(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e3779b97f4a7c15ull);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

std::uint64_t fnv1a(std::string_view text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

}  // namespace

Rng::Rng(std::uint64_t seed, std::string_view label) {
  std::uint64_t mixed = splitmix64(seed) ^ fnv1a(label);
  for (std::uint64_t& word : state_) word = splitmix64(mixed);
}

std::uint64_t Rng::next() {
  const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

std::uint64_t Rng::below(std::uint64_t n) {
  AFORE_CHECK(n > 0, "a range of nothing");
  const std::uint64_t uneven = (0 - n) % n;  // 2^64 mod n values too many
  std::uint64_t value = next();
  while (value < uneven) value = next();
  return value % n;
}

double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  // Marsaglia's polar method: a point in the unit disc gives two independent values.
  double x = 0, y = 0, square = 0;
  do {
    x = 2 * uniform() - 1;
    y = 2 * uniform() - 1;
    square = x * x + y * y;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * fmath::log(square) / square);
  spare_normal_ = y * factor;
  has_spare_ = true;
  return x * factor;
}

double Rng::lognormal(double mu, double sigma) { return fmath::exp(mu + sigma * normal()); }

}  // namespace afore
