#pragma once
// Memory that processes share, a planner that has something to say, and plans to compare.
#include <sys/mman.h>

#include <cstring>
#include <span>
#include <vector>

#include "engine.h"

namespace afore::c::testing {

constexpr std::int64_t kSecond = 1'000'000'000;

class Shared {
 public:
  explicit Shared(std::int64_t bytes) : bytes_(bytes) {
    memory_ =
        ::mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    EXPECT_NE(memory_, MAP_FAILED);
  }
  ~Shared() { ::munmap(memory_, static_cast<std::size_t>(bytes_)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  void* get() const { return memory_; }
  std::int64_t size() const { return bytes_; }
  std::span<unsigned char> bytes() const {
    return {static_cast<unsigned char*>(memory_), static_cast<std::size_t>(bytes_)};
  }

 private:
  void* memory_;
  std::int64_t bytes_;
};

// One plan after the other, always the same ones.
class Plans {
 public:
  Plans() {
    afore_config config = config_of("afore-tiny", 4);
    config.tile_tokens = 4;
    config.copy_ns = 10;
    planner_ = make_planner(config);
  }
  const afore_plan& next() {
    const auto counts = draw_counts<std::int64_t>(rng_, 32, 4, 100 + static_cast<std::int64_t>(rng_.below(200)));
    std::int64_t sum = 0;
    for (const std::int64_t count : counts) sum += count;
    plan_ = empty_plan();
    EXPECT_EQ(afore_planner_plan(planner_.get(), step_++, 1, 0, sum / 4, counts.data(), 0, &plan_), AFORE_OK)
        << text(planner_.get());
    return plan_;
  }
  std::int64_t most_bytes() const { return afore_planner_plan_bytes(planner_.get()); }

 private:
  PlannerPtr planner_;
  Rng rng_{11};
  std::int64_t step_ = 0;
  afore_plan plan_{};
};

template <class T>
bool same_list(const T* a, const T* b, std::int64_t count) {
  return count == 0 || std::memcmp(a, b, sizeof(T) * static_cast<std::size_t>(count)) == 0;
}

inline bool same_plan(const afore_plan& a, const afore_plan& b) {
  afore_plan x = a, y = b;
  x.copies = y.copies = nullptr;
  x.shares = y.shares = nullptr;
  x.tile_load = y.tile_load = nullptr;
  return std::memcmp(&x, &y, sizeof x) == 0 && same_list(a.copies, b.copies, a.copy_count) &&
         same_list(a.shares, b.shares, a.share_count) && same_list(a.tile_load, b.tile_load, a.workers);
}

struct Buffer {
  explicit Buffer(std::int64_t bytes) : words(static_cast<std::size_t>(bytes) / 8 + 1) {}
  void* get() { return words.data(); }
  std::int64_t size() const { return std::ssize(words) * 8; }
  std::vector<std::uint64_t> words;
};

inline RingPtr make_ring(const Shared& memory, int capacity, int readers, std::int64_t plan_bytes) {
  afore_ring* ring = nullptr;
  EXPECT_EQ(afore_ring_init(memory.get(), memory.size(), capacity, readers, plan_bytes, &ring), AFORE_OK)
      << text(nullptr);
  return RingPtr(ring);
}

inline RingPtr attach(const Shared& memory) {
  afore_ring* ring = nullptr;
  EXPECT_EQ(afore_ring_attach(memory.get(), memory.size(), &ring), AFORE_OK) << text(nullptr);
  return RingPtr(ring);
}

}  // namespace afore::c::testing
