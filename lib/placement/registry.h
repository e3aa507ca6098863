#pragma once
// The placement policies there are, by name. docs/policies.md says what each does and where its rule comes from.
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "placement/policy.h"

namespace afore::placement {

struct PolicyInfo {
  const char* name;
  const char* summary;                             // one line
  std::unique_ptr<Policy> (*make)(const Limits&);  // nullptr: planned in the background, over many targets (eplb)
  bool balances_primaries = false;                 // at load, where a history is known
  bool predicts = false;                           // plans from predictions, unless another source is asked for
  // Beside its own plans: which copies for later targets a predicted demand is worth. nullptr: it makes none.
  std::unique_ptr<Policy> (*make_ahead)(const Limits&) = nullptr;
};

std::span<const PolicyInfo> policies();                // in the order they are listed to people
const PolicyInfo* find_policy(std::string_view name);  // nullptr when unknown
std::string policy_names(const char* separator);

}  // namespace afore::placement
