#include <algorithm>
#include <chrono>
#include <climits>
#include <span>
#include <string>

#include "c/internal.h"
#include "c/plan_image.h"
#include "util/byte_ring.h"
#include "util/log/crc32c.h"

// One plan to a cell, so that `capacity` is what it says.
struct afore_ring {
  explicit afore_ring(afore::ByteRing&& made) : ring(std::move(made)) {}

  afore::ByteRing ring;
  std::string bytes;  // of the plan that the producer publishes
};

namespace afore::c {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMostPlanBytes = INT32_MAX, kMostReaders = 1 << 16, kMostCapacity = 1 << 24;
constexpr std::int64_t kMostTimeoutNs = 1'000'000'000'000'000'000;  // 31 years
constexpr std::int64_t kHeadBytes = sizeof(ByteRing::Head), kLine = ByteRing::kAlignment;

ByteRingOptions shape_of(std::int32_t capacity, std::int32_t readers, std::int64_t plan_bytes) {
  refuse_unless(capacity >= 1 && capacity <= kMostCapacity, AFORE_E_ARGUMENT, "capacity is not from 1 to 2^24");
  refuse_unless(readers >= 1 && readers <= kMostReaders, AFORE_E_ARGUMENT, "readers are not from 1 to 2^16");
  refuse_unless(plan_bytes >= static_cast<std::int64_t>(kLeastPlanBytes) && plan_bytes <= kMostPlanBytes,
                AFORE_E_ARGUMENT, "max_plan_bytes cannot be: afore_planner_plan_bytes() says them");
  const std::int64_t cell = (kHeadBytes + plan_bytes + kLine - 1) / kLine * kLine;
  return {readers, capacity, static_cast<std::size_t>(cell)};
}

std::span<std::byte> checked(void* memory, std::int64_t memory_bytes) {
  refuse_unless(memory != nullptr, AFORE_E_ARGUMENT, "memory is null");
  refuse_unless(reinterpret_cast<std::uintptr_t>(memory) % ByteRing::kAlignment == 0, AFORE_E_ARGUMENT,
                "memory is not aligned to 64 bytes");
  refuse_unless(memory_bytes >= 0, AFORE_E_ARGUMENT, "memory_bytes are below 0");
  return {static_cast<std::byte*>(memory), static_cast<std::size_t>(memory_bytes)};
}

Clock::time_point deadline_in(std::int64_t timeout_ns) {
  return Clock::now() + std::chrono::nanoseconds(std::min(timeout_ns, kMostTimeoutNs));
}

int publish(afore_ring& ring, const afore_plan* plan, std::int64_t timeout_ns) {
  refuse_unless(plan != nullptr, AFORE_E_ARGUMENT, "plan is null");
  refuse_unless(timeout_ns >= 0, AFORE_E_ARGUMENT, "timeout_ns is below 0");
  ring.bytes.reserve(ring.ring.options().cell_bytes);  // once
  write_image(*plan, ring.bytes);
  refuse_unless(ring.ring.cells_for(ring.bytes.size()) == 1, AFORE_E_CAPACITY,
                "the plan is larger than the ring's max_plan_bytes");
  Clock::time_point deadline{};
  while (true) {
    const std::uint32_t seen = ring.ring.room_word();
    if (ring.ring.publish(ring.bytes, 0, plan->seq)) return AFORE_OK;
    if (deadline == Clock::time_point{}) deadline = deadline_in(timeout_ns);
    refuse_unless(Clock::now() < deadline, AFORE_E_TIMEOUT, "a reader has not made room in time");
    ring.ring.wait_for_room(seen, deadline);
  }
}

struct Buffer {
  char* data;
  std::int64_t bytes;
};

// The plan at range.at, which moves behind what is done with.
int read(ByteRing& ring, ByteRing::Range& range, const Buffer& buffer, afore_plan* out) {
  ByteRing::Head head;
  if (!ring.read_head(range, head)) {
    ring.skip_damaged(range);
    return thread_error().fail(AFORE_E_DAMAGED, "a plan's head is damaged: it is skipped");
  }
  if (buffer.bytes < head.bytes)
    return thread_error().fail(AFORE_E_CAPACITY, "the plan is larger than the buffer: it stays in the ring");
  ring.copy_out(range, head, buffer.data);
  range.at += ring.cells_for(head.bytes);
  if (crc32c({buffer.data, head.bytes}) != head.bytes_crc)
    return thread_error().fail(AFORE_E_DAMAGED, "a plan's bytes are damaged: it is skipped");
  return guarded(thread_error(), AFORE_E_DAMAGED, [&] {
    copy_sized(out, out->struct_size, read_image({buffer.data, head.bytes}));
    return AFORE_OK;
  });
}

int take(ByteRing& ring, int reader, const Buffer& buffer, std::int64_t timeout_ns, afore_plan* out) {
  Clock::time_point deadline{};
  while (true) {
    refuse_unless(!ring.lost(reader), AFORE_E_LOST, "the reader was dropped by the producer");
    ByteRing::Range range = ring.range(reader);
    const bool found = range.at < range.end;
    const int status = found ? read(ring, range, buffer, out) : int{AFORE_E_TIMEOUT};
    ring.finish(reader, range);
    if (found) return status;
    if (deadline == Clock::time_point{}) deadline = deadline_in(timeout_ns);
    const bool in_time = ring.wait(reader, deadline) && Clock::now() < deadline;
    if (in_time) continue;
    // Published while this went to sleep.
    range = ring.range(reader);
    refuse_unless(range.at < range.end || ring.lost(reader), AFORE_E_TIMEOUT, "no plan came in time");
  }
}

// Errors{data} of the ring itself say that its memory is damaged.
template <class Status>
Status damaged_if_data(Status status) {
  return status == AFORE_E_DATA ? Status{AFORE_E_DAMAGED} : status;
}

template <class Call>
auto on_ring(afore_ring* ring, Call&& call) noexcept -> decltype(call() + 0) {
  if (ring == nullptr) return thread_error().fail(AFORE_E_ARGUMENT, "ring is null");
  return damaged_if_data(guarded(thread_error(), AFORE_E_DAMAGED, call));
}

void check_reader(const afore_ring& ring, std::int32_t reader) {
  refuse_unless(reader >= 0 && reader < ring.ring.options().readers, AFORE_E_ARGUMENT, "there is no such reader");
}

}  // namespace
}  // namespace afore::c

using afore::c::guarded;
using afore::c::on_ring;
using afore::c::refuse_unless;
using afore::c::thread_error;

int64_t afore_ring_bytes(int32_t capacity, int32_t readers, int64_t max_plan_bytes) {
  return guarded(thread_error(), AFORE_E_ARGUMENT, [&] {
    return static_cast<int64_t>(afore::ByteRing::memory_bytes(afore::c::shape_of(capacity, readers, max_plan_bytes)));
  });
}

int afore_ring_init(void* memory, int64_t memory_bytes, int32_t capacity, int32_t readers, int64_t max_plan_bytes,
                    afore_ring** ring) {
  return guarded(thread_error(), AFORE_E_ARGUMENT, [&] {
    refuse_unless(ring != nullptr, AFORE_E_ARGUMENT, "ring is null");
    *ring = nullptr;
    const auto bytes = afore::c::checked(memory, memory_bytes);
    const afore::ByteRingOptions options = afore::c::shape_of(capacity, readers, max_plan_bytes);
    refuse_unless(bytes.size() >= afore::ByteRing::memory_bytes(options), AFORE_E_CAPACITY,
                  "memory is smaller than afore_ring_bytes()");
    *ring = new afore_ring(afore::ByteRing(bytes, options));
    return AFORE_OK;
  });
}

int afore_ring_attach(void* memory, int64_t memory_bytes, afore_ring** ring) {
  return afore::c::damaged_if_data(guarded(thread_error(), AFORE_E_ARGUMENT, [&] {
    refuse_unless(ring != nullptr, AFORE_E_ARGUMENT, "ring is null");
    *ring = nullptr;
    *ring = new afore_ring(afore::ByteRing::attach(afore::c::checked(memory, memory_bytes)));
    return AFORE_OK;
  }));
}

void afore_ring_detach(afore_ring* ring) { delete ring; }

int afore_ring_publish(afore_ring* ring, const afore_plan* plan, int64_t timeout_ns) {
  if (ring == nullptr) return thread_error().fail(AFORE_E_ARGUMENT, "ring is null");
  return guarded(thread_error(), AFORE_E_DATA, [&] { return afore::c::publish(*ring, plan, timeout_ns); });
}

int afore_ring_slowest(afore_ring* ring) {
  return on_ring(ring, [&] {
    const int reader = ring->ring.slowest();
    refuse_unless(reader >= 0, AFORE_E_STATE, "all readers were dropped");
    return reader;
  });
}

int afore_ring_drop(afore_ring* ring, int32_t reader) {
  return on_ring(ring, [&] {
    afore::c::check_reader(*ring, reader);
    ring->ring.lose(reader);
    return AFORE_OK;
  });
}

int afore_ring_take(afore_ring* ring, int32_t reader, void* buffer, int64_t buffer_bytes, int64_t timeout_ns,
                    afore_plan* out) {
  return on_ring(ring, [&] {
    afore::c::check_reader(*ring, reader);
    refuse_unless(out != nullptr, AFORE_E_ARGUMENT, "out is null");
    refuse_unless(afore::c::size_fits(out->struct_size, afore::c::kLeastPlanBytes), AFORE_E_ARGUMENT,
                  "out: struct_size cannot be: set it to sizeof(afore_plan)");
    refuse_unless(buffer != nullptr && buffer_bytes >= 0, AFORE_E_ARGUMENT, "buffer is null");
    refuse_unless(reinterpret_cast<std::uintptr_t>(buffer) % alignof(std::int64_t) == 0, AFORE_E_ARGUMENT,
                  "buffer is not aligned to 8 bytes");
    refuse_unless(timeout_ns >= 0, AFORE_E_ARGUMENT, "timeout_ns is below 0");
    return afore::c::take(ring->ring, reader, {static_cast<char*>(buffer), buffer_bytes}, timeout_ns, out);
  });
}

int64_t afore_ring_plan_bytes(afore_ring* ring) {
  return on_ring(ring, [&] { return static_cast<int64_t>(ring->ring.options().cell_bytes) - afore::c::kHeadBytes; });
}
