#pragma once
// CUDA's exchanges within a warp. What comes from a lane outside the mask is undefined there and 0xa5 bytes here.
#include <bit>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "kernels/shim/block.h"

namespace afore::shim {

template <class T>
struct Shuffled {
  T value;
  unsigned source;
  T result;
};

template <class T>
T shuffle(std::uint32_t mask, T value, unsigned source, const Site& site) {
  static_assert(std::is_arithmetic_v<T>);
  Shuffled<T> mine{value, source, {}};
  std::memset(&mine.result, 0xa5, sizeof(T));
  meet(
      mask, &mine,
      [](Lanes& lanes) {
        for (void* operand : lanes.operand) {
          if (operand == nullptr) continue;
          auto& to = *static_cast<Shuffled<T>*>(operand);
          if (const auto* from = static_cast<Shuffled<T>*>(lanes.operand[to.source])) to.result = from->value;
        }
      },
      site);
  return mine.result;
}

// All lanes get `fold` of all values.
template <class T, class Fold>
T reduce(std::uint32_t mask, T value, Fold, const Site& site) {
  meet(
      mask, &value,
      [](Lanes& lanes) {
        T total{};
        bool first = true;
        for (void* operand : lanes.operand) {
          if (operand == nullptr) continue;
          const T& next = *static_cast<T*>(operand);
          total = first ? next : static_cast<T>(Fold{}(total, next));
          first = false;
        }
        for (void* operand : lanes.operand)
          if (operand != nullptr) *static_cast<T*>(operand) = total;
      },
      site);
  return value;
}

template <class T>
struct Matched {
  T value;
  std::uint32_t lanes;
};

}  // namespace afore::shim

template <class T>
T __shfl_sync(std::uint32_t mask, T value, int source, int width = 32,
              const afore::shim::Site& site = afore::shim::Site::current()) {
  const unsigned segment = afore::shim::lane() & ~static_cast<unsigned>(width - 1);
  return afore::shim::shuffle(mask, value, segment | (static_cast<unsigned>(source) & static_cast<unsigned>(width - 1)),
                              site);
}
template <class T>
T __shfl_up_sync(std::uint32_t mask, T value, unsigned delta, int width = 32,
                 const afore::shim::Site& site = afore::shim::Site::current()) {
  const unsigned lane = afore::shim::lane(), place = lane & static_cast<unsigned>(width - 1);
  return afore::shim::shuffle(mask, value, place < delta ? lane : lane - delta, site);
}
template <class T>
T __shfl_down_sync(std::uint32_t mask, T value, unsigned delta, int width = 32,
                   const afore::shim::Site& site = afore::shim::Site::current()) {
  const unsigned lane = afore::shim::lane(), place = lane & static_cast<unsigned>(width - 1);
  return afore::shim::shuffle(mask, value, place + delta < static_cast<unsigned>(width) ? lane + delta : lane, site);
}
// A lane may read from an earlier segment than its own, not from a later one.
template <class T>
T __shfl_xor_sync(std::uint32_t mask, T value, int bits, int width = 32,
                  const afore::shim::Site& site = afore::shim::Site::current()) {
  const unsigned lane = afore::shim::lane(), source = lane ^ (static_cast<unsigned>(bits) & 31u);
  const unsigned last = lane | static_cast<unsigned>(width - 1);
  return afore::shim::shuffle(mask, value, source <= last ? source : lane, site);
}

inline unsigned __ballot_sync(std::uint32_t mask, int predicate,
                              const afore::shim::Site& site = afore::shim::Site::current()) {
  struct Or {
    std::uint32_t operator()(std::uint32_t a, std::uint32_t b) { return a | b; }
  };
  return afore::shim::reduce(mask, static_cast<std::uint32_t>(predicate != 0) << afore::shim::lane(), Or{}, site);
}
inline int __any_sync(std::uint32_t mask, int predicate, const afore::shim::Site& site = afore::shim::Site::current()) {
  return __ballot_sync(mask, predicate, site) != 0;
}
inline int __all_sync(std::uint32_t mask, int predicate, const afore::shim::Site& site = afore::shim::Site::current()) {
  return __ballot_sync(mask, !predicate, site) == 0;
}

// Which lanes of the mask have this lane's value.
template <class T>
unsigned __match_any_sync(std::uint32_t mask, T value, const afore::shim::Site& site = afore::shim::Site::current()) {
  using Mine = afore::shim::Matched<T>;
  Mine mine{value, 0};
  afore::shim::meet(
      mask, &mine,
      [](afore::shim::Lanes& lanes) {
        for (void* to : lanes.operand) {
          for (unsigned from = 0; to != nullptr && from < afore::shim::kWarpLanes; ++from) {
            if (lanes.operand[from] == nullptr) continue;
            if (static_cast<Mine*>(lanes.operand[from])->value == static_cast<Mine*>(to)->value)
              static_cast<Mine*>(to)->lanes |= 1u << from;
          }
        }
      },
      site);
  return mine.lanes;
}

// int and unsigned, as since sm_80.
#define AFORE_SHIM_REDUCE(name, T, expression)                                                               \
  inline T name(std::uint32_t mask, T value, const afore::shim::Site& site = afore::shim::Site::current()) { \
    struct Fold {                                                                                            \
      T operator()(T a, T b) { return expression; }                                                          \
    };                                                                                                       \
    return afore::shim::reduce(mask, value, Fold{}, site);                                                   \
  }
AFORE_SHIM_REDUCE(__reduce_add_sync, unsigned, a + b)
AFORE_SHIM_REDUCE(__reduce_add_sync, int, static_cast<int>(static_cast<unsigned>(a) + static_cast<unsigned>(b)))
AFORE_SHIM_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
AFORE_SHIM_REDUCE(__reduce_min_sync, int, a < b ? a : b)
AFORE_SHIM_REDUCE(__reduce_max_sync, unsigned, a < b ? b : a)
AFORE_SHIM_REDUCE(__reduce_max_sync, int, a < b ? b : a)
#undef AFORE_SHIM_REDUCE
