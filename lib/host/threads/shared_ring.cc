#include "host/threads/shared_ring.h"

#include <atomic>
#include <new>

#include "util/error.h"
#include "util/log/crc32c.h"

namespace afore::host {
namespace {

using Counter = std::atomic<std::int64_t>;
static_assert(Counter::is_always_lock_free, "processes share them");

ByteRingOptions ring_options(const RingOptions& options) {
  return {options.readers, options.cells, options.cell_bytes};
}

}  // namespace

// A reader's, written by it alone: a cache line.
struct alignas(ByteRing::kAlignment) SharedRing::Line {
  Counter plans{0}, stale{0}, late{0}, out_of_order{0}, damaged{0};
};

struct alignas(ByteRing::kAlignment) SharedRing::Local {
  std::string bytes;  // of the plan it takes
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

// The readers' counts go ahead of the ring.
std::size_t SharedRing::memory_bytes(const RingOptions& options) {
  return sizeof(Line) * static_cast<std::size_t>(options.readers) + ByteRing::memory_bytes(ring_options(options));
}

SharedRing::SharedRing(SharedMemory memory, const RingOptions& options)
    : memory_(std::move(memory)),
      options_(options),
      lines_(reinterpret_cast<Line*>(memory_.bytes().data())),
      ring_(memory_.bytes().subspan(sizeof(Line) * static_cast<std::size_t>(options.readers)), ring_options(options)),
      locals_(options.readers) {
  for (int r = 0; r < options.readers; ++r) new (lines_ + r) Line;
}

SharedRing::~SharedRing() = default;

bool SharedRing::publish(const pipeline::PublishedPlan& plan) {
  encode_plan(plan, bytes_);
  return ring_.publish(bytes_, epoch_, plan.serial);
}

void SharedRing::clear(std::int64_t epoch) {
  epoch_ = epoch;
  ring_.clear();
}

void SharedRing::lose(int reader) { ring_.lose(reader); }
void SharedRing::poke(int reader) { ring_.poke(reader); }
bool SharedRing::wait(int reader, Deadline deadline) { return ring_.wait(reader, deadline); }

// The plan at range.at, which moves behind what is done with.
Verdict SharedRing::read(int reader, std::int64_t expected_serial, std::int64_t epoch, ByteRing::Range& range,
                         pipeline::PlanPtr& plan) {
  ByteRing::Head head;
  if (!ring_.read_head(range, head)) {
    ring_.skip_damaged(range);
    return Verdict::damaged;
  }
  if (head.epoch > epoch) return Verdict::early;
  std::string& bytes = locals_[reader].bytes;
  const bool wanted = head.epoch == epoch && head.serial == expected_serial;
  if (wanted) {
    bytes.resize(head.bytes);
    ring_.copy_out(range, head, bytes.data());
  }
  range.at += ring_.cells_for(head.bytes);
  if (head.epoch < epoch) return Verdict::stale;
  if (!wanted) return head.serial < expected_serial ? Verdict::late : Verdict::out_of_order;
  if (crc32c(bytes) != head.bytes_crc) return Verdict::damaged;
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
  Taken taken;
  if (ring_.lost(reader)) {
    taken.verdict = Verdict::lost;
    return taken;
  }
  ByteRing::Range range = ring_.range(reader);
  if (range.at < range.end) taken.verdict = read(reader, expected_serial, epoch, range, taken.plan);
  taken.frees_producer = ring_.finish(reader, range);
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
  const auto read = [](const Counter& counter) { return counter.load(std::memory_order_relaxed); };
  return {read(line.plans), read(line.stale), read(line.late), read(line.out_of_order), read(line.damaged)};
}

}  // namespace afore::host
