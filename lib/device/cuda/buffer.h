#pragma once
// Memory of a GPU, or of the host where every GPU reaches it.
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <utility>

#include "device/cuda/lane.h"

namespace afore::device::cuda {

struct Place {
  int gpu = 0;
  bool host = false;      // pinned
  const char* what = "";  // "memory for experts", as errors say it
  const char* hint = "";  // what to make smaller
};

// Held while memory is taken or given back. CUDA may wait then for all that GPUs have to do, so whoever puts work on
// several GPUs whose parts wait for each other holds it too until all parts are there.
std::mutex& gpu_memory_mutex();

// Owns `bytes` bytes, not initialised. Freed when the GPU is idle.
class Memory {
 public:
  Memory() = default;
  Memory(const Place& place, std::size_t bytes);  // Error{io}
  ~Memory();
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept;

  std::byte* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  bool host_ = false;
};

// An array that grows, and forgets what it held when it does.
template <class T>
class Buffer {
 public:
  explicit Buffer(const Place& place) : place_(place) {}
  Buffer(const Place& place, std::int64_t count) : place_(place), memory_(place, bytes_of(count)) {}

  // Growing waits for the lane that uses it: it is rare, since it grows by half at least.
  void grow(Lane& lane, std::int64_t count) {
    if (bytes_of(count) <= memory_.bytes()) return;
    lane.wait_for_all();
    const std::size_t more = memory_.bytes() + memory_.bytes() / 2;
    memory_ = Memory();
    memory_ = Memory(place_, bytes_of(count) > more ? bytes_of(count) : more);
  }
  T* data() const { return reinterpret_cast<T*>(memory_.data()); }
  const Place& place() const { return place_; }

 private:
  static std::size_t bytes_of(std::int64_t count) { return static_cast<std::size_t>(count) * sizeof(T); }

  Place place_;
  Memory memory_;
};

}  // namespace afore::device::cuda
