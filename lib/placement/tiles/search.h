#pragma once
// Complete search for copies that bring all loads to a limit, or the proof that none do: depth first over copies that
// must be in every solution. Where a worker is stuck over the limit, the workers its residual paths reach are a closed
// set, and some expert confined to it must be copied out of it. Where the room that a worker leaves unused would exceed
// what all may leave unused, some expert must be copied into it. The shorter list of candidates is tried.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/tiles/flow.h"
#include "placement/tiles/open_slots.h"
#include "placement/tiles/probe.h"

namespace afore::placement::tiles {

class CopySearch {
 public:
  enum class Verdict { found, none, unknown };  // unknown: the nodes ran out

  // The flow holds the split without copies; it is undefined afterwards. found: made() stands in the flow until undo().
  Verdict run(Flow& flow, OpenSlots& slots, std::span<const std::uint8_t> pinned, Tiles limit, std::int64_t nodes);
  std::span<const Made> made() const { return made_; }
  void undo(Flow& flow, OpenSlots& slots);
  std::int64_t nodes() const { return nodes_; }  // of the last run

 private:
  struct Candidate {
    int expert = 0, worker = 0;
    Tiles amount = 0;  // what it can bring at once
  };
  struct Level {
    Flow::Saved saved;
    std::vector<Candidate> candidates;
  };

  void prepare();
  Verdict descend(int depth);
  Verdict try_copy(int depth, const Candidate& candidate);
  bool cold_allows(int copies);
  bool hot_allows(int copies);
  void open_classes();
  bool stands_for_class(int expert, int copies);
  void list_hot(int copies, std::vector<Candidate>& out);
  void list_cold(int copies, std::vector<Candidate>& out);
  void offer(int expert, int worker, std::vector<Candidate>& out) const;
  bool copyable(int expert) const { return pinned_.empty() || pinned_[expert] == 0; }
  bool touched(int expert) const { return copied_[expert] > 0; }
  std::size_t pair(int expert, int worker) const {
    return static_cast<std::size_t>(expert) * static_cast<std::size_t>(flow_->workers()) + worker;
  }

  Flow* flow_ = nullptr;
  OpenSlots* slots_ = nullptr;
  std::span<const std::uint8_t> pinned_;
  Tiles limit_ = 0;
  std::int64_t budget_ = 0, nodes_ = 0;
  std::int64_t total_ = 0;           // tiles
  std::vector<int> sorted_;          // copyable experts with demand, largest first
  std::vector<int> class_;           // by expert: experts of one class stand on the same workers
  std::vector<int> class_taken_;     // by class: members already listed
  std::vector<Tiles> class_last_;    // by class: the size listed last
  std::vector<std::int64_t> reach_;  // by worker: tiles of all experts it holds
  std::vector<int> open_;            // by worker: slots left
  int open_total_ = 0;
  std::vector<int> copied_;   // by expert: copies made, and replicas evicted, on the way here
  std::vector<Tiles> gains_;  // scratch: what each copy can add
  std::vector<std::int64_t> unused_;
  std::vector<std::uint8_t> forbidden_;  // by (expert, worker): refuted further up
  std::vector<std::size_t> forbids_;
  std::vector<Candidate> cold_;
  std::vector<Level> levels_;
  std::vector<Made> made_;
};

}  // namespace afore::placement::tiles
