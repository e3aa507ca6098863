#pragma once
// Copies of experts between the arenas of workers, and expert FFN beside them, on one kind of device: what
// afore-migrate measures with. It decides nothing: it runs what it is told and says how long that took.
// Implementations: host/host_transfers.h (memory and threads of this machine) and device/cuda/transfers.h.
//
// Calls come from one thread, in this order: reserve, cut, fill and clear, then the timed ones.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/sm_split.h"
#include "util/pattern.h"
#include "util/stop_flag.h"

namespace afore::device {

enum class CopyPath {
  host,  // memcpy between arenas in host memory
  d2d,   // within one GPU
  peer,  // between GPUs, by their copy engines
  nccl,  // send and receive
};
const char* to_string(CopyPath path);

struct DeviceInfo {
  std::string kind;                   // "cpu" or "cuda"
  std::string name;                   // of the processor or the GPU
  std::string arithmetic;             // the instruction set, or the compute capability
  int units = 0;                      // logical processors, or GPUs
  int workers_per_unit = 0;           // the most that share a GPU, or the host
  bool virtual_workers = false;       // workers share a device or its memory: copies between them cross no link
  std::optional<SmSplit> sm_split{};  // where they share a GPU
};

// One out port: a worker and those that it sends to, one after the other. Ports work at the same time.
struct CopyPort {
  int from = 0;
  std::vector<int> to;
};

struct ExpertSizes {
  std::int64_t hidden = 0, intermediate = 0;
};

// Round r of a series copies slot r mod `slots` of each sender to the same slot of its receivers.
struct CopyRounds {
  std::int64_t first = 0, count = 0, slots = 1;
};

// What begins at once. Each port sends `copies` experts, from slots 0, 1, … (mod `experts`) of the sender to slots
// experts, experts + 1, … of each receiver; meanwhile the first `ffn_workers` workers compute `experts` experts, those
// of slots 0 … experts - 1, for `tokens` tokens each. Either part may be absent (no ports; no workers).
struct Mix {
  std::span<const CopyPort> ports{};
  int copies = 0;
  int ffn_workers = 0;
  int experts = 0;
  std::int64_t tokens = 0;
};

struct TimeSpan {
  Nanos begin_ns = 0, end_ns = 0;
  Nanos length() const { return end_ns - begin_ns; }
};

// By worker. Spans of one worker are on one clock; a span without length means that nothing was done there.
struct MixTimes {
  std::vector<TimeSpan> ffn;
  std::vector<TimeSpan> arrivals;  // from the begin of what the worker's port does to its last expert's arrival
};

struct TransferOptions {
  int workers = 2;
  int worker_threads = 1;          // that each worker computes with, on the host
  const StopFlag* stop = nullptr;  // ends a series of rounds early when it becomes non-zero
  int tile_tokens = 0;             // M tile of the expert FFN, one of the device's; 0: its usual one
  bool sm_partitions = true;       // workers that share a GPU compute on SMs of their own, where that can be had
};

class Transfers {
 public:
  virtual ~Transfers() = default;

  virtual int workers() const = 0;
  // Paths that connect so many workers, at least one; the first is the usual one.
  virtual std::vector<CopyPath> paths() const = 0;
  // Why a path is not among them, in a few words; empty where the kind of device says it all.
  virtual std::string why_not(CopyPath) const { return ""; }
  // The device as workers on that path have it.
  virtual DeviceInfo info(CopyPath path) const = 0;

  // What the arena of each worker on that path may take, now.
  virtual std::int64_t available_bytes(CopyPath path) const = 0;
  // Puts the workers where the path needs them (d2d: on one GPU, peer and nccl: each on its own), with new arenas.
  // Error {io} when there is no memory, or
  // the workers cannot be connected.
  virtual void reserve(CopyPath path, std::int64_t bytes_per_worker) = 0;
  // Cuts every arena into slots, and returns how many.
  virtual std::int64_t cut(std::int64_t slot_bytes) = 0;
  // What such a slot takes of an arena.
  virtual std::int64_t stride_bytes(std::int64_t slot_bytes) const = 0;

  virtual void fill(int worker, std::int64_t slot, std::uint64_t seed, PatternKind kind) = 0;
  virtual void clear(int worker, std::int64_t slot) = 0;
  // Bytes of (worker, slot) that are not what `fill` puts into (from, from_slot).
  virtual std::int64_t count_wrong(int worker, std::int64_t slot, std::uint64_t seed, PatternKind kind, int from,
                                   std::int64_t from_slot) const = 0;

  // Microseconds of each round by port, one round behind the other without a pause. nullopt when stopped.
  virtual std::optional<std::vector<std::vector<double>>> time_rounds(std::span<const CopyPort> ports,
                                                                      const CopyRounds& rounds) = 0;

  // Expert FFN. Slots are cut to expert_bytes and filled with weights before run().
  virtual std::int64_t tile_tokens() const = 0;
  virtual std::int64_t expert_bytes(const ExpertSizes& sizes) const = 0;
  // Threads that compute at the same time on all workers; 0 where no processor of the host computes.
  virtual int compute_threads() const = 0;
  // Activations of up to `most_rows` rows and `most_experts` experts on each worker. Error{usage} for sizes that the
  // device's kernels do not take.
  virtual void prepare_ffn(const ExpertSizes& sizes, int most_experts, std::int64_t most_rows, std::uint64_t seed) = 0;
  virtual MixTimes run(const Mix& mix) = 0;
};

}  // namespace afore::device
