#pragma once
// One rendering's bounds and its place in the template. Whatever makes text, lists or mappings does it here, so that no
// template takes more than a fixed amount of work and memory.
#include <cstddef>
#include <string>

#include "nn/jinja/value.h"

namespace afore::nn::jinja {

inline constexpr std::size_t kMaxWork =
    4'000'000;  // one for each part of the template evaluated, item or 32 bytes made
inline constexpr std::size_t kMaxTextBytes = 16u << 20;  // of a string, and of the output
inline constexpr int kMaxValueDepth = 64;                // lists and mappings in one another
inline constexpr int kMaxDepth = 400;                    // parts of the template under evaluation at once

class Run {
 public:
  explicit Run(const std::string& source) : source_(source) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  int line = 1;   // under evaluation
  int depth = 0;  // see kMaxDepth

  // "SOURCE:LINE: FACT", Error{data}.
  [[noreturn]] void fail(const std::string& fact) const;
  void charge(std::size_t work);
  void charge_bytes(std::size_t bytes);

  Value text(std::string text);
  Value sequence(Flavour flavour, std::vector<Value> items);
  Value list(std::vector<Value> items) { return sequence(Flavour::list, std::move(items)); }
  Value mapping(std::vector<std::pair<Value, Value>> members);

 private:
  int depth_around(int inner) const;

  const std::string& source_;
  std::size_t work_ = 0;
};

}  // namespace afore::nn::jinja
