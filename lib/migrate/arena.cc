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

constexpr std::int64_t kWordBytes = sizeof(std::uint64_t);

// splitmix64's finaliser: every input bit reaches every output bit.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

class Pattern {
 public:
  Pattern(std::uint64_t seed, std::int64_t worker, std::int64_t slot)
      : key_(mix(mix(seed + 0x9e3779b97f4a7c15u) ^
                 (static_cast<std::uint64_t>(worker) << 32 | static_cast<std::uint64_t>(slot)))) {}
  std::uint64_t word(std::int64_t index) const {
    return mix(key_ + static_cast<std::uint64_t>(index) * 0x9e3779b97f4a7c15u);
  }

 private:
  std::uint64_t key_;
};

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
  stride_bytes_ = (slot_bytes + kSlotAlignBytes - 1) / kSlotAlignBytes * kSlotAlignBytes;
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

void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed, std::int64_t worker, std::int64_t slot) {
  const Pattern pattern(seed, worker, slot);
  const auto size = static_cast<std::int64_t>(bytes.size());
  for (std::int64_t at = 0; at < size; at += kWordBytes) {
    const std::uint64_t word = pattern.word(at / kWordBytes);
    std::memcpy(bytes.data() + at, &word, static_cast<std::size_t>(std::min(kWordBytes, size - at)));
  }
}

std::int64_t count_wrong(std::span<const std::byte> bytes, std::uint64_t seed, std::int64_t worker, std::int64_t slot) {
  const Pattern pattern(seed, worker, slot);
  const auto size = static_cast<std::int64_t>(bytes.size());
  std::int64_t wrong = 0;
  for (std::int64_t at = 0; at < size; at += kWordBytes) {
    const auto take = static_cast<std::size_t>(std::min(kWordBytes, size - at));
    const std::uint64_t word = pattern.word(at / kWordBytes);
    if (std::memcmp(bytes.data() + at, &word, take) == 0) continue;
    std::byte expected[kWordBytes];
    std::memcpy(expected, &word, kWordBytes);
    for (std::size_t i = 0; i < take; ++i) wrong += bytes[static_cast<std::size_t>(at) + i] != expected[i];
  }
  return wrong;
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
