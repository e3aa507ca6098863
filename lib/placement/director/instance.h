#pragma once
// One target as Director's search sees it: what must stay where it is, which slots a copy may take, what work costs.
// Objective, in ns and without c0:
//   max over workers of compute + max over workers of communication
// where compute is LayerCost::load_ns in thousandths of the worker's slowdown, and communication is the rows that a
// worker receives times link_row_ns (each goes back once: count both ways in link_row_ns where both matter).
#include <cstdint>
#include <span>
#include <vector>

#include "placement/bounds.h"
#include "placement/policy.h"
#include "placement/replica_table.h"
#include "placement/split_problem.h"

namespace afore::placement::director {

// A regular slot that a copy may take: not busy, of no primary or stand-in, on no draining worker.
struct OpenSlot {
  int worker = 0;
  int slot = 0;
  int holds = kNoExpert;  // a replica that this target could use
  bool empty = false;     // nothing stands there; a slot may be full of what this target has no use for
  std::int64_t last_used = -1;
  // Which of two a copy takes: an empty one, one of no use to the target, the least recently used.
  bool before(const OpenSlot& other) const {
    if (empty != other.empty) return empty;
    if ((holds == kNoExpert) != (other.holds == kNoExpert)) return holds == kNoExpert;
    return last_used < other.last_used;
  }
};

// Rows that reach a worker, priced. row_ns = 0: communication is free. Where attention workers are the same devices as
// FFN workers (colocated), 1/N of the rows do not travel: give (N-1)/N of a row's time.
struct Link {
  double row_ns = 0;
};

class Instance {
 public:
  // Objective tiles: one ns per tile, nothing else, whatever the cost says.
  void reset(const Request& request, Objective objective, std::int64_t copy_budget, Link link);

  int workers() const { return workers_; }
  int experts() const { return static_cast<int>(tiles_.size()); }
  const LayerCost& cost() const { return cost_; }
  const Link& link() const { return link_; }
  std::span<const WorkerTraits> traits() const { return traits_; }
  std::int64_t slowdown(int worker) const { return traits_.empty() ? 1000 : traits_[worker].slowdown_permille; }
  std::span<const std::int64_t> tiles() const { return tiles_; }
  std::span<const std::int64_t> counts() const { return request_->counts; }
  std::int64_t rows() const { return rows_; }
  std::span<const int> active() const { return active_; }   // experts with work, ascending
  std::span<const OpenSlot> open() const { return open_; }  // by worker
  std::span<const OpenSlot> open_on(int worker) const {
    return std::span(open_).subspan(open_first_[worker], open_first_[worker + 1] - open_first_[worker]);
  }
  int first_open(int worker) const { return open_first_[worker]; }
  std::int64_t copies() const { return copies_; }  // at most, slots considered
  bool may_copy(int expert) const { return copies_ > 0 && may_copy_[expert]; }
  // Of experts with work: where the first replica is, and the others that no copy can take away.
  std::span<const int> homes() const { return homes_; }
  std::span<const ReplicaTable::Extra> kept() const { return kept_; }
  const Request& request() const { return *request_; }

  // Thousandths of slowdown taken off a limit on the load of a worker.
  std::int64_t room(int worker, std::int64_t limit) const { return limit * 1000 / slowdown(worker); }
  Nanos load(int worker, std::int64_t tiles, std::int64_t active) const {
    return ceil_div(cost_.load_ns(tiles, active) * slowdown(worker), 1000);
  }
  Nanos communication(std::int64_t most_rows) const;  // rounded up
  // The combinatorial bound of lib/placement/bounds.h, and the mean of all rows.
  std::int64_t bound();
  std::int64_t least_communication() const;

 private:
  void list_slots();

  const Request* request_ = nullptr;
  Link link_;
  int workers_ = 0;
  LayerCost cost_;
  std::vector<WorkerTraits> traits_;
  std::vector<std::int64_t> tiles_;
  std::int64_t rows_ = 0, copies_ = 0;
  std::vector<int> active_, homes_, open_first_;
  std::vector<OpenSlot> open_;
  std::vector<std::uint8_t> may_copy_, fixed_, in_open_;
  std::vector<ReplicaTable::Extra> kept_;
  ReplicaTable standing_;
  Board board_;
  Bounds bounds_;
};

}  // namespace afore::placement::director
