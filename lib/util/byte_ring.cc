#include "util/byte_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>
#include <string>

#include "util/error.h"
#include "util/log/crc32c.h"

namespace afore {
namespace {

constexpr std::uint32_t kRingMagic = 0x474e5241;     // "ARNG"
constexpr std::uint32_t kMessageMagic = 0x4e4c5041;  // "APLN"
constexpr std::uint32_t kVersion = 2;
constexpr std::size_t kLineBytes = ByteRing::kAlignment;  // of a cache

using Word = std::atomic<std::uint32_t>;
using Counter = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && Counter::is_always_lock_free, "processes share them");
static_assert(sizeof(Word) == sizeof(std::uint32_t), "the kernel compares it");

// An absolute CLOCK_MONOTONIC time, which is what steady_clock counts on Linux (man 2 futex, FUTEX_WAIT_BITSET).
// Not FUTEX_PRIVATE_FLAG: processes wait too.
bool futex_wait(Word& word, std::uint32_t seen, ByteRing::Deadline deadline) {
  timespec until{};
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
  until.tv_sec = ns / 1'000'000'000;
  until.tv_nsec = ns % 1'000'000'000;
  const bool bounded = deadline != ByteRing::Deadline::max();
  const long result =
      syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, seen, bounded ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  return result == 0 || errno != ETIMEDOUT;
}

void futex_wake(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

std::uint32_t crc_of(const ByteRing::Head& head) {
  return crc32c({reinterpret_cast<const char*>(&head), offsetof(ByteRing::Head, head_crc)});
}

}  // namespace

struct alignas(kLineBytes) ByteRing::Control {
  std::uint32_t version = kVersion;
  std::int32_t readers = 0, cells = 0;
  std::uint64_t cell_bytes = 0;
  Word magic{0};                             // after all else of a new ring
  alignas(kLineBytes) Counter published{0};  // cells written, ever; after a message's bytes
  Counter void_before{0};                    // cells that were made void
  Word refused{0};                           // the producer found no room and waits to be told
  Word room{0};                              // counts what it should wake for
};

// A reader's. Two cache lines: what the reader writes with every message, and what others write to wake it.
struct ByteRing::Line {
  alignas(kLineBytes) Counter cursor{0};  // cells it has done with, ever
  alignas(kLineBytes) Word word{0};       // counts what it should wake for
  Word sleeping{0};
  Word lost{0};
};

struct alignas(kLineBytes) ByteRing::Seen {
  std::uint32_t word = 0;  // when wait() last returned
};

std::size_t ByteRing::memory_bytes(const ByteRingOptions& options) {
  return sizeof(Control) + sizeof(Line) * static_cast<std::size_t>(options.readers) +
         options.cell_bytes * static_cast<std::size_t>(options.cells);
}

ByteRing::ByteRing(std::byte* memory, const ByteRingOptions& options, Control* control)
    : options_(options),
      control_(control),
      lines_(reinterpret_cast<Line*>(memory + sizeof(Control))),
      cells_(memory + sizeof(Control) + sizeof(Line) * static_cast<std::size_t>(options.readers)),
      seen_(options.readers) {}

ByteRing::ByteRing(std::span<std::byte> memory, const ByteRingOptions& options)
    : ByteRing(memory.data(), options, reinterpret_cast<Control*>(memory.data())) {
  AFORE_CHECK(options.readers > 0 && options.cells > 0, "a ring needs readers and cells");
  AFORE_CHECK(options.cell_bytes >= kLineBytes && options.cell_bytes % kLineBytes == 0, "cells are whole lines");
  AFORE_CHECK(memory.size() >= memory_bytes(options), "a ring is larger than its memory");
  AFORE_CHECK(reinterpret_cast<std::uintptr_t>(memory.data()) % kLineBytes == 0, "a ring's memory is not aligned");
  new (control_) Control;
  for (int r = 0; r < options.readers; ++r) new (lines_ + r) Line;
  control_->readers = options.readers;
  control_->cells = options.cells;
  control_->cell_bytes = options.cell_bytes;
  control_->magic.store(kRingMagic, std::memory_order_release);
}

ByteRing ByteRing::attach(std::span<std::byte> memory) {
  const auto refuse = [](const char* fact) {
    throw Error(ErrorKind::data, std::string("no ring can be used there: ") + fact,
                "the memory of a ring that its producer has made, whole");
  };
  if (reinterpret_cast<std::uintptr_t>(memory.data()) % kLineBytes != 0) refuse("the memory is not aligned");
  if (memory.size() < sizeof(Control)) refuse("the memory is too small");
  auto* control = reinterpret_cast<Control*>(memory.data());
  if (control->magic.load(std::memory_order_acquire) != kRingMagic) refuse("the memory has none");
  if (control->version != kVersion) refuse("it is of another version");
  ByteRingOptions options;
  options.readers = control->readers;
  options.cells = control->cells;
  options.cell_bytes = control->cell_bytes;
  const bool sound = options.readers > 0 && options.cells > 0 && options.cell_bytes >= kLineBytes &&
                     options.cell_bytes % kLineBytes == 0 && options.cell_bytes <= memory.size();
  // In this order the product below stays within 64 bits.
  if (!sound || static_cast<std::size_t>(options.cells) > memory.size() / options.cell_bytes ||
      memory_bytes(options) > memory.size())
    refuse("its geometry does not fit the memory");
  ByteRing ring(memory.data(), options, control);
  return ring;
}

ByteRing::ByteRing(ByteRing&& other) noexcept = default;
ByteRing::~ByteRing() = default;

std::uint64_t ByteRing::cells_for(std::size_t message_bytes) const {
  return (sizeof(Head) + message_bytes + options_.cell_bytes - 1) / options_.cell_bytes;
}

// `offset` bytes behind the begin of a cell; the ring's end may lie between.
void ByteRing::put(std::uint64_t cell, std::size_t offset, const void* from, std::size_t bytes) {
  const std::size_t size = options_.cell_bytes * options_.cells;
  const std::size_t begin = (cell % options_.cells * options_.cell_bytes + offset) % size;
  const std::size_t first = std::min(bytes, size - begin);
  std::memcpy(cells_ + begin, from, first);
  std::memcpy(cells_, static_cast<const std::byte*>(from) + first, bytes - first);
}

void ByteRing::get(std::uint64_t cell, std::size_t offset, void* to, std::size_t bytes) const {
  const std::size_t size = options_.cell_bytes * options_.cells;
  const std::size_t begin = (cell % options_.cells * options_.cell_bytes + offset) % size;
  const std::size_t first = std::min(bytes, size - begin);
  std::memcpy(to, cells_ + begin, first);
  std::memcpy(static_cast<std::byte*>(to) + first, cells_, bytes - first);
}

// The reader's stores of its cursor come after it has copied the cells out; having read the cursor, the producer may
// write them. seq_cst beyond that acquire because of `refused`, see publish().
bool ByteRing::has_room(std::uint64_t cells_needed) const {
  const std::uint64_t published = control_->published.load(std::memory_order_relaxed);  // its own
  for (int r = 0; r < options_.readers; ++r) {
    if (lines_[r].lost.load(std::memory_order_relaxed) != 0) continue;  // its own
    const std::uint64_t cursor = lines_[r].cursor.load(std::memory_order_seq_cst);
    if (published + cells_needed - cursor > static_cast<std::uint64_t>(options_.cells)) return false;
  }
  return true;
}

bool ByteRing::publish(std::string_view bytes, std::int64_t epoch, std::int64_t serial) {
  const std::uint64_t needed = cells_for(bytes.size());
  if (needed > static_cast<std::uint64_t>(options_.cells) || bytes.size() > UINT32_MAX)
    throw Error(ErrorKind::data,
                "a plan of " + std::to_string(bytes.size()) + " bytes is larger than the plan ring of " +
                    std::to_string(options_.cell_bytes * options_.cells),
                "fewer workers or experts, or a larger ring");
  if (!has_room(needed)) {
    // Either this sees the cursor that a reader moves now, or that reader sees `refused`: store here, then load the
    // cursors; there, store the cursor, then load `refused`; all seq_cst.
    control_->refused.store(1, std::memory_order_seq_cst);
    if (!has_room(needed)) return false;
    control_->refused.store(0, std::memory_order_relaxed);  // a reader that saw it tells once too often
  }
  Head head;
  head.magic = kMessageMagic;
  head.version = kVersion;
  head.cell = control_->published.load(std::memory_order_relaxed);
  head.epoch = epoch;
  head.serial = serial;
  head.bytes = static_cast<std::uint32_t>(bytes.size());
  head.bytes_crc = crc32c(bytes);
  head.head_crc = crc_of(head);
  put(head.cell, 0, &head, sizeof head);
  put(head.cell, sizeof head, bytes.data(), bytes.size());
  control_->published.store(head.cell + needed, std::memory_order_release);  // after the bytes
  poke_all();
  return true;
}

void ByteRing::clear() {
  // After `published` in the order of this thread: whoever reads it knows of that many cells.
  control_->void_before.store(control_->published.load(std::memory_order_relaxed), std::memory_order_release);
  poke_all();
}

void ByteRing::lose(int reader) {
  lines_[reader].lost.store(1, std::memory_order_release);
  poke(reader);
}

bool ByteRing::lost(int reader) const { return lines_[reader].lost.load(std::memory_order_acquire) != 0; }

int ByteRing::slowest() const {
  int slowest = -1;
  std::uint64_t least = 0;
  for (int r = 0; r < options_.readers; ++r) {
    if (lost(r)) continue;
    const std::uint64_t cursor = lines_[r].cursor.load(std::memory_order_relaxed);
    if (slowest >= 0 && cursor >= least) continue;
    slowest = r;
    least = cursor;
  }
  return slowest;
}

std::uint32_t ByteRing::room_word() const { return control_->room.load(std::memory_order_seq_cst); }

bool ByteRing::wait_for_room(std::uint32_t seen, Deadline deadline) {
  return futex_wait(control_->room, seen, deadline);
}

void ByteRing::poke_all() {
  for (int r = 0; r < options_.readers; ++r)
    if (lines_[r].lost.load(std::memory_order_relaxed) == 0) poke(r);
}

// The word changes first, then the sleeper is looked for; the sleeper says that it sleeps first, then looks at the
// word. All seq_cst, so one of them sees the other. Whatever was stored before the poke is seen by whoever reads the
// new word.
void ByteRing::poke(int reader) {
  Line& line = lines_[reader];
  line.word.fetch_add(1, std::memory_order_seq_cst);
  if (line.sleeping.load(std::memory_order_seq_cst) != 0) futex_wake(line.word);
}

bool ByteRing::wait(int reader, Deadline deadline) {
  Line& line = lines_[reader];
  std::uint32_t& seen = seen_[reader].word;
  bool in_time = true;
  if (line.word.load(std::memory_order_acquire) == seen) {
    line.sleeping.store(1, std::memory_order_seq_cst);
    if (line.word.load(std::memory_order_seq_cst) == seen) in_time = futex_wait(line.word, seen, deadline);
    line.sleeping.store(0, std::memory_order_relaxed);  // read too late, it costs a waker one call
  }
  const std::uint32_t word = line.word.load(std::memory_order_acquire);
  in_time = in_time || word != seen;
  seen = word;
  return in_time;
}

ByteRing::Range ByteRing::range(int reader) const {
  Range range;
  range.done = lines_[reader].cursor.load(std::memory_order_relaxed);  // its own
  // In this order: `published` is at least what the `void_before` just read was set to.
  const std::uint64_t void_before = control_->void_before.load(std::memory_order_acquire);
  range.end = control_->published.load(std::memory_order_acquire);
  range.at = std::max(range.done, void_before);
  if (range.at > range.end || range.end - range.done > static_cast<std::uint64_t>(options_.cells))
    throw Error(ErrorKind::data, "the counters of the plan ring are damaged", "another process wrote into its memory");
  return range;
}

bool ByteRing::read_head(const Range& range, Head& head) const {
  get(range.at, 0, &head, sizeof head);
  return head.magic == kMessageMagic && head.version == kVersion && head.head_crc == crc_of(head) &&
         head.cell == range.at && cells_for(head.bytes) <= range.end - range.at;
}

// A damaged head's length is not known.
void ByteRing::skip_damaged(Range& range) const {
  Head head;
  while (++range.at < range.end && !read_head(range, head)) continue;
}

void ByteRing::copy_out(const Range& range, const Head& head, char* to) const {
  get(range.at, sizeof head, to, head.bytes);
}

bool ByteRing::finish(int reader, const Range& range) {
  if (range.at == range.done) return false;
  // After the bytes were copied out; see publish().
  lines_[reader].cursor.store(range.at, std::memory_order_seq_cst);
  if (control_->refused.load(std::memory_order_seq_cst) == 0 ||
      control_->refused.exchange(0, std::memory_order_relaxed) == 0)
    return false;
  control_->room.fetch_add(1, std::memory_order_seq_cst);
  futex_wake(control_->room);
  return true;
}

}  // namespace afore
