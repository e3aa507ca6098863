#pragma once
#include <cstddef>

namespace afore::placement::testing {

// Calls of the global operators new of this test program so far, which allocations_test.cc replaces.
std::size_t allocations();

}  // namespace afore::placement::testing
