#pragma once
// The plan ring (pipeline/plan_ring.h) over shared memory, for workers in threads or in forked processes: a ByteRing
// (util/byte_ring.h) of plans' bytes (plan_bytes.h). Readers trust nothing in it: a plan has two CRC-32C, of its head
// and of its bytes, and is decoded with every check of decode_plan().
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "host/threads/plan_bytes.h"
#include "host/threads/shared_memory.h"
#include "util/byte_ring.h"

namespace afore::host {

struct RingOptions {
  int readers = 1;
  int cells = 256;
  std::size_t cell_bytes = 1024;  // a multiple of 64
  PlanShape shape;
};

enum class Verdict {
  plan,
  none,          // the reader has taken all
  early,         // of a newer epoch than the reader's: it stays until the reader is there
  stale,         // of an older epoch
  late,          // of an earlier target than expected
  out_of_order,  // of a later one
  damaged,
  lost  // the reader was dropped and has to end
};
const char* to_string(Verdict verdict);

struct Taken {
  Verdict verdict = Verdict::none;
  pipeline::PlanPtr plan;       // of Verdict::plan only; all that is stale, late, out of order or damaged is skipped
  bool frees_producer = false;  // the producer found no room before: whoever takes this tells it to publish again
};

struct RingCounts {  // of one reader
  std::int64_t plans = 0, stale = 0, late = 0, out_of_order = 0, damaged = 0;
};

class SharedRing {
 public:
  using Deadline = ByteRing::Deadline;

  static std::size_t memory_bytes(const RingOptions& options);
  // Before threads start or processes fork. A fork's object is as good as the original for its own reader.
  SharedRing(SharedMemory memory, const RingOptions& options);
  ~SharedRing();

  // The producer's, one thread. After clear() and lose() it tries again by itself.
  // False: a live reader still needs the room; the next take() that may have made some says `frees_producer`.
  // Error{data} for a plan that would not fit an empty ring.
  bool publish(const pipeline::PublishedPlan& plan);
  // A new epoch: what was published and not taken is void; plans from now on are of `epoch`. A reader gives the room of
  // void plans back with its next take().
  void clear(std::int64_t epoch);
  // The reader has ended, or takes nothing any more: it is waited for no longer.
  void lose(int reader);

  // A reader's, one thread each. The plan of serial `expected_serial` and the reader's `epoch`, or why the next one in
  // the ring is not that. Error{data} when the ring's counters are damaged.
  Taken take(int reader, std::int64_t expected_serial, std::int64_t epoch);
  // Sleeps until something was published or cleared, or the reader poked or lost, since the last wait() returned; may
  // also return for no reason. So: look at everything, then wait. False: nothing came before the deadline; time_point's
  // max() is none.
  bool wait(int reader, Deadline deadline);

  // Anybody's: ends the reader's wait, or its next one.
  void poke(int reader);
  RingCounts counts(int reader) const;

 private:
  struct Line;   // of a reader, in the memory
  struct Local;  // of a reader, in its own process

  Verdict read(int reader, std::int64_t expected_serial, std::int64_t epoch, ByteRing::Range& range,
               pipeline::PlanPtr& plan);
  void count(int reader, Verdict verdict);

  SharedMemory memory_;
  RingOptions options_;
  Line* lines_;  // by reader
  ByteRing ring_;
  std::int64_t epoch_ = 0;  // the producer's
  std::string bytes_;       // of the plan it publishes
  std::vector<Local> locals_;
};

}  // namespace afore::host
