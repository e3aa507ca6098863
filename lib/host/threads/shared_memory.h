#pragma once
// Memory that threads and forked processes share: anonymous, gone with the last of them.
#include <cstddef>
#include <span>

namespace afore::host {

class SharedMemory {
 public:
  // Zeros, aligned to a page. `name` shows up in /proc only. Error{io} when there is no memory.
  SharedMemory(const char* name, std::size_t bytes);
  ~SharedMemory();
  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }  // stays where it is when this object moves

 private:
  std::span<std::byte> bytes_;
};

}  // namespace afore::host
