// A call from C allocates what the planner allocates, and nothing of its own once it has run a few times; the ring
// nothing at all. Counted by replacing the global operators for the whole test program.
#include <cstdlib>
#include <new>
#include <vector>

#include "c/config.h"
#include "engine.h"

namespace {

thread_local std::size_t calls = 0;
thread_local std::int64_t left = -1;  // allocations until one fails; below 0: none does

[[gnu::noinline]] void* allocate_or_null(std::size_t size, std::size_t alignment) {
  ++calls;
  const std::size_t rounded = (size + alignment) / alignment * alignment;
  return alignment <= alignof(std::max_align_t) ? std::malloc(rounded) : std::aligned_alloc(alignment, rounded);
}

[[gnu::noinline]] void* allocate(std::size_t size, std::size_t alignment = 1) {
  if (left >= 0 && left-- == 0) throw std::bad_alloc();
  if (void* memory = allocate_or_null(size, alignment)) return memory;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(std::size_t size) { return allocate(size); }
void* operator new[](std::size_t size) { return allocate(size); }
void* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size, 1); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return allocate_or_null(size, 1); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace afore::c {
namespace {

constexpr int kTargets = 60;

struct Targets {
  Targets() {
    Rng rng(7);
    for (int i = 0; i < kTargets; ++i) counts.push_back(testing::draw_counts<std::int64_t>(rng, 32, 4, 300));
  }
  std::vector<std::vector<std::int64_t>> counts;
};

TEST(Allocations, ACallMakesNoneOfItsOwn) {
  const Targets targets;
  const afore_config config = testing::config_of("afore-tiny", 4);
  const testing::PlannerPtr planner = testing::make_planner(config);
  const Resolved resolved = resolve(config);
  pipeline::Planner direct(resolved.model, resolved.cluster, resolved.cost, resolved.planner);

  std::vector<std::size_t> through, within;
  afore_plan out = testing::empty_plan();
  Demand demand;
  for (int round = 0; round < 3; ++round)
    for (int i = 0; i < kTargets; ++i) {
      const std::int64_t step = round * kTargets + i;
      std::size_t before = calls;
      ASSERT_EQ(afore_planner_plan(planner.get(), step, 1, 0, 300, targets.counts[i].data(), 0, &out), AFORE_OK);
      through.push_back(calls - before);
      demand.target = {step, 1, 0};
      demand.tokens = 300;
      demand.counts = targets.counts[i];
      direct.set_window(0);
      before = calls;
      { const auto planned = direct.plan(demand); }
      within.push_back(calls - before);
    }
  std::size_t planner_makes = 0;
  for (std::size_t i = 2 * kTargets; i < through.size(); ++i) {
    EXPECT_EQ(through[i], within[i]) << "target " << i;
    planner_makes += within[i];
  }
  EXPECT_GT(planner_makes, 0u);  // the count counts
}

TEST(Allocations, TheRingMakesNone) {
  const testing::PlannerPtr planner = testing::make_planner(testing::config_of("afore-tiny", 4));
  const std::int64_t most = afore_planner_plan_bytes(planner.get());
  std::vector<std::uint64_t> buffer(static_cast<std::size_t>(most) / 8 + 1);
  const std::int64_t bytes = afore_ring_bytes(2, 1, most);
  void* memory = std::aligned_alloc(64, static_cast<std::size_t>(bytes));
  afore_ring* made = nullptr;
  ASSERT_EQ(afore_ring_init(memory, bytes, 2, 1, most, &made), AFORE_OK);
  {
    const testing::RingPtr ring(made);
    const Targets targets;
    afore_plan out = testing::empty_plan(), taken = testing::empty_plan();
    std::size_t made_after_first = 0;
    for (int i = 0; i < kTargets; ++i) {
      ASSERT_EQ(afore_planner_plan(planner.get(), i, 1, 0, 300, targets.counts[i].data(), 0, &out), AFORE_OK);
      const std::size_t before = calls;
      ASSERT_EQ(afore_ring_publish(made, &out, 0), AFORE_OK);
      ASSERT_EQ(afore_ring_take(made, 0, buffer.data(), most, 0, &taken), AFORE_OK);
      if (i > 0) made_after_first += calls - before;
    }
    EXPECT_EQ(made_after_first, 0u);
  }
  std::free(memory);
}

// Whichever allocation fails: a code, and a planner that says that it is broken rather than going on from half a plan.
TEST(Allocations, WithoutMemoryThereIsACode) {
  const Targets targets;
  const afore_config config = testing::config_of("afore-tiny", 4);
  const auto failing = [&](std::int64_t at, auto call) {
    left = at;
    const int status = call();
    left = -1;
    return status;
  };
  int creates = 0, plans = 0;
  for (std::int64_t at = 0;; ++at) {
    afore_planner* planner = nullptr;
    const int status = failing(at, [&] { return afore_planner_create(&config, &planner); });
    const testing::PlannerPtr end(planner);
    if (status == AFORE_OK) break;
    ASSERT_EQ(status, AFORE_E_MEMORY);
    ASSERT_EQ(planner, nullptr);
    ++creates;
  }
  for (std::int64_t at = 0;; ++at) {
    const testing::PlannerPtr planner = testing::make_planner(config);
    afore_plan out = testing::empty_plan();
    const auto plan = [&] {
      return afore_planner_plan(planner.get(), 0, 1, 0, 300, targets.counts[0].data(), 0, &out);
    };
    const int status = failing(at, plan);
    if (status == AFORE_OK) break;
    ASSERT_EQ(status, AFORE_E_MEMORY);
    EXPECT_EQ(testing::text(planner.get()), "no memory is left");
    const int then = plan();
    ASSERT_TRUE(then == AFORE_E_STATE || then == AFORE_OK) << then;  // it may have failed before the plan began
    ++plans;
  }
  EXPECT_GT(creates, 5);
  EXPECT_GT(plans, 5);
}

}  // namespace
}  // namespace afore::c
