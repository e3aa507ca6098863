#include "host/threads/shared_ring.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstring>
#include <new>

#include "util/error.h"
#include "util/log/crc32c.h"

namespace afore::host {
namespace {

constexpr std::uint32_t kMagic = 0x4e4c5041;  // "APLN"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kLineBytes = 64;  // of a cache

using Word = std::atomic<std::uint32_t>;
using Counter = std::atomic<std::uint64_t>;
static_assert(Word::is_always_lock_free && Counter::is_always_lock_free, "processes share them");
static_assert(sizeof(Word) == sizeof(std::uint32_t), "the kernel compares it");

// An absolute CLOCK_MONOTONIC time, which is what steady_clock counts on Linux (man 2 futex, FUTEX_WAIT_BITSET).
// Not FUTEX_PRIVATE_FLAG: processes wait too.
bool futex_wait(Word& word, std::uint32_t seen, SharedRing::Deadline deadline) {
  timespec until{};
  const auto ns = std::chrono::duration_cast<std::chrono::nanoseconds>(deadline.time_since_epoch()).count();
  until.tv_sec = ns / 1'000'000'000;
  until.tv_nsec = ns % 1'000'000'000;
  const bool bounded = deadline != SharedRing::Deadline::max();
  const long result =
      syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, seen, bounded ? &until : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
  return result == 0 || errno != ETIMEDOUT;
}

void futex_wake(Word& word) { syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0); }

}  // namespace

struct alignas(kLineBytes) SharedRing::Control {
  Counter published{0};    // cells written, ever; after a plan's bytes
  Counter void_before{0};  // cells that a new epoch made void
  Word refused{0};         // the producer found no room and waits to be told
};

// A reader's. Two cache lines: what the reader writes with every plan, and what others write to wake it.
struct SharedRing::Line {
  alignas(kLineBytes) Counter cursor{0};  // cells it has done with, ever
  Counter plans{0}, stale{0}, late{0}, out_of_order{0}, damaged{0};
  alignas(kLineBytes) Word word{0};  // counts what it should wake for
  Word sleeping{0};
  Word lost{0};
};

// In front of a plan's bytes, in its first cell.
struct SharedRing::Head {
  std::uint32_t magic = kMagic, version = kVersion;
  std::uint64_t cell = 0;  // counted from the first one ever: what stood here a lap ago is not taken for it
  std::int64_t epoch = 0, serial = 0;
  std::uint32_t bytes = 0, plan_crc = 0;
  std::uint32_t reserved = 0, head_crc = 0;  // of all before it

  std::uint32_t crc() const { return crc32c({reinterpret_cast<const char*>(this), offsetof(Head, head_crc)}); }
};

struct alignas(kLineBytes) SharedRing::Local {
  std::uint32_t seen = 0;  // its word, when wait() last returned
  std::string bytes;       // of the plan it takes
};

const char* to_string(Verdict verdict) {
  switch (verdict) {
    case Verdict::plan: return "plan";
    case Verdict::none: return "none";
    case Verdict::early: return "early";
    case Verdict::stale: return "stale";
    case Verdict::late: return "late";
    case Verdict::out_of_order: return "out of order";
    case Verdict::damaged: return "damaged";
    case Verdict::lost: return "lost";
  }
  return "";
}

std::size_t SharedRing::memory_bytes(const RingOptions& options) {
  return sizeof(Control) + sizeof(Line) * static_cast<std::size_t>(options.readers) +
         options.cell_bytes * static_cast<std::size_t>(options.cells);
}

SharedRing::SharedRing(SharedMemory memory, const RingOptions& options)
    : memory_(std::move(memory)), options_(options), locals_(options.readers) {
  AFORE_CHECK(options.readers > 0 && options.cells > 0, "a ring needs readers and cells");
  AFORE_CHECK(options.cell_bytes >= kLineBytes && options.cell_bytes % kLineBytes == 0, "cells are whole lines");
  AFORE_CHECK(memory_.bytes().size() >= memory_bytes(options), "a ring is larger than its memory");
  std::byte* at = memory_.bytes().data();
  control_ = new (at) Control;
  at += sizeof(Control);
  lines_ = reinterpret_cast<Line*>(at);
  for (int r = 0; r < options.readers; ++r, at += sizeof(Line)) new (at) Line;
  cells_ = at;
}

SharedRing::~SharedRing() = default;

std::uint64_t SharedRing::cells_for(std::size_t plan_bytes) const {
  return (sizeof(Head) + plan_bytes + options_.cell_bytes - 1) / options_.cell_bytes;
}

// `offset` bytes behind the begin of a cell; the ring's end may lie between.
void SharedRing::copy_in(std::uint64_t cell, std::size_t offset, const void* from, std::size_t bytes) {
  const std::size_t size = options_.cell_bytes * options_.cells;
  const std::size_t begin = (cell % options_.cells * options_.cell_bytes + offset) % size;
  const std::size_t first = std::min(bytes, size - begin);
  std::memcpy(cells_ + begin, from, first);
  std::memcpy(cells_, static_cast<const std::byte*>(from) + first, bytes - first);
}

void SharedRing::copy_out(std::uint64_t cell, std::size_t offset, void* to, std::size_t bytes) const {
  const std::size_t size = options_.cell_bytes * options_.cells;
  const std::size_t begin = (cell % options_.cells * options_.cell_bytes + offset) % size;
  const std::size_t first = std::min(bytes, size - begin);
  std::memcpy(to, cells_ + begin, first);
  std::memcpy(static_cast<std::byte*>(to) + first, cells_, bytes - first);
}

// The reader's stores of its cursor come after it has copied the cells out; having read the cursor, the producer may
// write them. seq_cst beyond that acquire because of `refused`, see publish().
bool SharedRing::has_room(std::uint64_t cells_needed) const {
  const std::uint64_t published = control_->published.load(std::memory_order_relaxed);  // its own
  for (int r = 0; r < options_.readers; ++r) {
    if (lines_[r].lost.load(std::memory_order_relaxed) != 0) continue;  // its own
    const std::uint64_t cursor = lines_[r].cursor.load(std::memory_order_seq_cst);
    if (published + cells_needed - cursor > static_cast<std::uint64_t>(options_.cells)) return false;
  }
  return true;
}

bool SharedRing::publish(const pipeline::PublishedPlan& plan) {
  encode_plan(plan, bytes_);
  const std::uint64_t needed = cells_for(bytes_.size());
  if (needed > static_cast<std::uint64_t>(options_.cells) || bytes_.size() > UINT32_MAX)
    throw Error(ErrorKind::data,
                "a plan of " + std::to_string(bytes_.size()) + " bytes is larger than the plan ring of " +
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
  head.cell = control_->published.load(std::memory_order_relaxed);
  head.epoch = epoch_;
  head.serial = plan.serial;
  head.bytes = static_cast<std::uint32_t>(bytes_.size());
  head.plan_crc = crc32c(bytes_);
  head.head_crc = head.crc();
  copy_in(head.cell, 0, &head, sizeof head);
  copy_in(head.cell, sizeof head, bytes_.data(), bytes_.size());
  control_->published.store(head.cell + needed, std::memory_order_release);  // after the bytes
  for (int r = 0; r < options_.readers; ++r)
    if (lines_[r].lost.load(std::memory_order_relaxed) == 0) poke(r);
  return true;
}

void SharedRing::clear(std::int64_t epoch) {
  epoch_ = epoch;
  // After `published` in the order of this thread: whoever reads it knows of that many cells.
  control_->void_before.store(control_->published.load(std::memory_order_relaxed), std::memory_order_release);
  for (int r = 0; r < options_.readers; ++r)
    if (lines_[r].lost.load(std::memory_order_relaxed) == 0) poke(r);
}

void SharedRing::lose(int reader) {
  lines_[reader].lost.store(1, std::memory_order_release);
  poke(reader);
}

// The word changes first, then the sleeper is looked for; the sleeper says that it sleeps first, then looks at the
// word. All seq_cst, so one of them sees the other. Whatever was stored before the poke is seen by whoever reads the
// new word.
void SharedRing::poke(int reader) {
  Line& line = lines_[reader];
  line.word.fetch_add(1, std::memory_order_seq_cst);
  if (line.sleeping.load(std::memory_order_seq_cst) != 0) futex_wake(line.word);
}

bool SharedRing::wait(int reader, Deadline deadline) {
  Line& line = lines_[reader];
  std::uint32_t& seen = locals_[reader].seen;
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

bool SharedRing::read_head(std::uint64_t at, std::uint64_t end, Head& head) const {
  copy_out(at, 0, &head, sizeof head);
  return head.magic == kMagic && head.version == kVersion && head.head_crc == head.crc() && head.cell == at &&
         cells_for(head.bytes) <= end - at;
}

// The plan at cell `at`, which moves behind what is done with.
Verdict SharedRing::read(int reader, std::int64_t expected_serial, std::int64_t epoch, std::uint64_t& at,
                         std::uint64_t end, pipeline::PlanPtr& plan) {
  Head head;
  if (!read_head(at, end, head)) {
    // Its length is not known: to the next head that is whole.
    while (++at < end && !read_head(at, end, head)) continue;
    return Verdict::damaged;
  }
  if (head.epoch > epoch) return Verdict::early;
  std::string& bytes = locals_[reader].bytes;
  const bool wanted = head.epoch == epoch && head.serial == expected_serial;
  if (wanted) {
    bytes.resize(head.bytes);
    copy_out(at, sizeof head, bytes.data(), bytes.size());
  }
  at += cells_for(head.bytes);
  if (head.epoch < epoch) return Verdict::stale;
  if (!wanted) return head.serial < expected_serial ? Verdict::late : Verdict::out_of_order;
  if (crc32c(bytes) != head.plan_crc) return Verdict::damaged;
  try {
    auto decoded = decode_plan(bytes, options_.shape);
    if (decoded->serial != head.serial) return Verdict::damaged;
    plan = std::move(decoded);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::data) throw;
    return Verdict::damaged;
  }
  return Verdict::plan;
}

Taken SharedRing::take(int reader, std::int64_t expected_serial, std::int64_t epoch) {
  Line& line = lines_[reader];
  Taken taken;
  if (line.lost.load(std::memory_order_acquire) != 0) {
    taken.verdict = Verdict::lost;
    return taken;
  }
  const std::uint64_t before = line.cursor.load(std::memory_order_relaxed);  // its own
  // In this order: `published` is at least what the `void_before` just read was set to.
  const std::uint64_t void_before = control_->void_before.load(std::memory_order_acquire);
  const std::uint64_t end = control_->published.load(std::memory_order_acquire);
  std::uint64_t at = std::max(before, void_before);
  if (at > end || end - before > static_cast<std::uint64_t>(options_.cells))
    throw Error(ErrorKind::data, "the counters of the plan ring are damaged", "another process wrote into its memory");
  if (at < end) taken.verdict = read(reader, expected_serial, epoch, at, end, taken.plan);
  if (at != before) {
    line.cursor.store(at, std::memory_order_seq_cst);  // after the bytes were copied out; see publish()
    taken.frees_producer = control_->refused.load(std::memory_order_seq_cst) != 0 &&
                           control_->refused.exchange(0, std::memory_order_relaxed) != 0;
  }
  count(reader, taken.verdict);
  return taken;
}

// Written by the reader alone.
void SharedRing::count(int reader, Verdict verdict) {
  Line& line = lines_[reader];
  const auto one_more = [](Counter& counter) {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  };
  switch (verdict) {
    case Verdict::plan: return one_more(line.plans);
    case Verdict::stale: return one_more(line.stale);
    case Verdict::late: return one_more(line.late);
    case Verdict::out_of_order: return one_more(line.out_of_order);
    case Verdict::damaged: return one_more(line.damaged);
    case Verdict::none:
    case Verdict::early:
    case Verdict::lost: return;
  }
}

RingCounts SharedRing::counts(int reader) const {
  const Line& line = lines_[reader];
  const auto read = [](const Counter& counter) {
    return static_cast<std::int64_t>(counter.load(std::memory_order_relaxed));
  };
  return {read(line.plans), read(line.stale), read(line.late), read(line.out_of_order), read(line.damaged)};
}

}  // namespace afore::host
