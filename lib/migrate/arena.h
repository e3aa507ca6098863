#pragma once
// One worker's memory for expert weights: a row of equal slots in anonymous memory of its own, touched before use.
#include <cstddef>
#include <cstdint>
#include <span>

namespace afore::migrate {

inline constexpr std::int64_t kSlotAlignBytes = 64;  // a cache line
// What a slot takes of an arena.
constexpr std::int64_t slot_stride(std::int64_t slot_bytes) {
  return (slot_bytes + kSlotAlignBytes - 1) / kSlotAlignBytes * kSlotAlignBytes;
}

class Arena {
 public:
  // Owns `capacity_bytes` of zeroed memory, every page already backed. Error{io} when the system refuses.
  explicit Arena(std::int64_t capacity_bytes);
  ~Arena();
  Arena(Arena&& other) noexcept;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  Arena& operator=(Arena&&) = delete;

  // Cuts the arena into slots of `slot_bytes`, each starting on kSlotAlignBytes. At least one must fit.
  void cut(std::int64_t slot_bytes);
  std::int64_t slots() const { return slots_; }
  std::span<std::byte> slot(std::int64_t index);
  std::span<const std::byte> slot(std::int64_t index) const;

 private:
  std::byte* base_ = nullptr;
  std::int64_t capacity_bytes_ = 0;
  std::int64_t slot_bytes_ = 0;
  std::int64_t stride_bytes_ = 0;
  std::int64_t slots_ = 0;
};

// What the machine, or the control group the process is in, can still give.
std::int64_t available_memory_bytes();

}  // namespace afore::migrate
