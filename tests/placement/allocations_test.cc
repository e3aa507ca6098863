// Counts allocations by replacing the global operators for the whole test program.
#include "allocations.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <new>
#include <vector>

namespace {

std::size_t calls = 0;

[[gnu::noinline]] void* allocate_or_null(std::size_t size) {
  ++calls;
  return std::malloc(size == 0 ? 1 : size);
}

[[gnu::noinline]] void* allocate(std::size_t size) {
  if (void* memory = allocate_or_null(size)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }

namespace afore::placement::testing {

std::size_t allocations() { return calls; }

// Whoever relies on the count relies on this.
TEST(Allocations, AreCounted) {
  const std::size_t before = allocations();
  std::vector<int> numbers(100);
  const auto number = std::make_unique<int>(1);
  EXPECT_EQ(allocations() - before, 2u);
  EXPECT_EQ(numbers[0] + *number, 1);
}

}  // namespace afore::placement::testing
