#pragma once
// Arrays that travel to a GPU together: written one behind the other in pinned memory, sent in one copy.
#include "device/cuda/buffer.h"
#include "util/error.h"

namespace afore::device::cuda {

class Parcel {
 public:
  Parcel(int gpu, const char* what) : host_({gpu, true, what}), device_({gpu, false, what}) {}

  // Room for arrays of `bytes` bytes together, each of bytes_of() its elements. Waits for the parcel's last journey.
  void open(Lane& lane, std::size_t bytes);
  template <class T>
  static std::size_t bytes_of(std::int64_t count) {
    return (static_cast<std::size_t>(count) * sizeof(T) + kAlign - 1) / kAlign * kAlign;
  }
  // Where to write an array, and in `device` where it arrives.
  template <class T, class D>
  T* add(std::int64_t count, D*& device) {
    AFORE_CHECK(used_ + bytes_of<T>(count) <= bytes_, "a parcel that is too small");
    T* host = reinterpret_cast<T*>(host_.data() + used_);
    device = reinterpret_cast<T*>(device_.data() + used_);
    used_ += bytes_of<T>(count);
    return host;
  }
  void send(Lane& lane);

 private:
  static constexpr std::size_t kAlign = 16;

  Buffer<std::byte> host_, device_;
  std::size_t bytes_ = 0, used_ = 0;
  Ticket sent_ = 0;
};

}  // namespace afore::device::cuda
