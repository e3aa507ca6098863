#pragma once
// Fewer activations at no greater largest load: parts are emptied into other parts of their expert, the smallest
// first, where all workers stay within the load that stands. A single pass of such merges and of whole returns is not
// optimal: fewest activations at a given load is as hard as the split itself.
#include <cstdint>
#include <utility>
#include <vector>

#include "placement/exact/loads.h"

namespace afore::placement::exact {

class Merge {
 public:
  void run(Loads& loads);

 private:
  bool empty_part(Loads& loads, int id, std::int64_t limit);

  std::vector<std::pair<std::int64_t, int>> parts_;
};

}  // namespace afore::placement::exact
