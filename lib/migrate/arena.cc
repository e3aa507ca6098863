#include "migrate/arena.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <string>
#include <utility>

#include "util/error.h"

namespace afore::migrate {

namespace {

// One number from a file such as memory.max; -1 when the file is absent or says "max".
std::int64_t read_number(const char* path) {
  std::ifstream in(path);
  std::int64_t value = -1;
  return in >> value ? value : -1;
}

}  // namespace

Arena::Arena(std::int64_t capacity_bytes) : capacity_bytes_(capacity_bytes) {
  AFORE_CHECK(capacity_bytes > 0, "an arena has a size");
  void* memory = mmap(nullptr, static_cast<std::size_t>(capacity_bytes), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw Error(ErrorKind::io, fmt::format("cannot map {} bytes: {}", capacity_bytes, std::strerror(errno)),
                "use smaller sizes or fewer workers");
  }
  base_ = static_cast<std::byte*>(memory);
  const std::int64_t page = sysconf(_SC_PAGESIZE);
  // The first write to a page costs a fault, which must not be part of a timed copy.
  for (std::int64_t at = 0; at < capacity_bytes; at += page) base_[at] = std::byte{0};
}

Arena::~Arena() {
  if (base_ != nullptr) munmap(base_, static_cast<std::size_t>(capacity_bytes_));
}

Arena::Arena(Arena&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      capacity_bytes_(std::exchange(other.capacity_bytes_, 0)),
      slot_bytes_(std::exchange(other.slot_bytes_, 0)),
      stride_bytes_(std::exchange(other.stride_bytes_, 0)),
      slots_(std::exchange(other.slots_, 0)) {}

void Arena::cut(std::int64_t slot_bytes) {
  AFORE_CHECK(slot_bytes > 0 && slot_bytes <= capacity_bytes_, "a slot fits its arena");
  slot_bytes_ = slot_bytes;
  stride_bytes_ = slot_stride(slot_bytes);
  slots_ = std::max<std::int64_t>(1, capacity_bytes_ / stride_bytes_);
}

std::span<std::byte> Arena::slot(std::int64_t index) {
  AFORE_CHECK(index >= 0 && index < slots_, "the slot exists");
  return {base_ + index * stride_bytes_, static_cast<std::size_t>(slot_bytes_)};
}

std::span<const std::byte> Arena::slot(std::int64_t index) const {
  AFORE_CHECK(index >= 0 && index < slots_, "the slot exists");
  return {base_ + index * stride_bytes_, static_cast<std::size_t>(slot_bytes_)};
}

std::int64_t available_memory_bytes() {
  std::int64_t available = std::numeric_limits<std::int64_t>::max();
  std::ifstream meminfo("/proc/meminfo");
  for (std::string key, unit; meminfo >> key;) {
    std::int64_t kib = 0;
    if (!(meminfo >> kib)) break;
    if (key == "MemAvailable:") available = kib * 1024;
    std::getline(meminfo, unit);
  }
  const std::int64_t limit = read_number("/sys/fs/cgroup/memory.max");
  const std::int64_t used = read_number("/sys/fs/cgroup/memory.current");
  if (limit >= 0 && used >= 0) available = std::min(available, std::max<std::int64_t>(0, limit - used));
  return available;
}

}  // namespace afore::migrate
