#pragma once
// Is there a split with every load within a limit? Exact where it ends within its budget of nodes. The expert with the
// fewest ways is decided first: whole on one worker, the fullest first, or divided over a set of workers, small sets
// first; tiles of divided experts are laid out on the forest they make. Workers may be part of all, and experts may
// have less than all their tiles here: the rest of the split then stands as it is.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/exact/fillings.h"
#include "placement/exact/loads.h"
#include "placement/exact/part_forest.h"

namespace afore::placement::exact {

enum class Answer { infeasible, feasible, unknown };

class ThresholdDfs {
 public:
  struct Part {
    int id = 0;  // replica
    std::int64_t tiles = 0;
  };

  // A problem on `workers`, each with its pinned experts.
  void begin(const Loads& loads, std::span<const int> workers);
  // One more expert with so many tiles for some of its replicas, all on the workers.
  void add(std::span<const int> ids, std::int64_t tiles);
  Answer run(std::int64_t limit, std::int64_t node_budget);
  // After feasible: all parts with tiles, of the experts added.
  std::span<const Part> parts() const { return found_; }

 private:
  struct Item {
    int first = 0, count = 0;  // ways_ range
    std::int64_t tiles = 0;
    std::int64_t parts = 1;  // forced at the limit
  };
  struct Way {
    int worker = 0;  // local
    int id = 0;
    int bit = 0;  // in the worker's set of undecided experts
  };
  bool set_up(std::int64_t limit);
  bool force_parts(Item& item);
  void take(int worker, std::int64_t room, std::int64_t seats);
  std::int64_t slack();
  bool too_much_waste(std::int64_t slack);
  void decide(const Item& item, int sign);
  int choose(int live, std::int64_t slack) const;
  Answer descend(int live);
  Answer place_whole(const Item& item, int live);
  Answer divide(const Item& item, int live, std::int64_t slack);
  Answer divide_over(const Item& item, int live, int parts, int candidates);
  Answer try_division(const Item& item, int live, std::span<const int> picked);
  void write_down();

  const Loads* loads_ = nullptr;
  std::int64_t tile_ = 1, setup_ = 0;
  int workers_ = 0;
  bool seats_count_ = false;
  std::vector<int> global_, local_;  // local_: by global worker, of those in use
  std::vector<std::int64_t> base_tiles_, base_active_;
  std::vector<Item> items_;
  std::vector<Way> ways_;
  std::vector<std::int64_t> room_, seats_, fits_;  // by local worker: left, and tiles of one more expert that fit
  std::vector<std::int64_t> coming_, pending_;     // what may still come: undecided experts, tiles of divided ones
  std::vector<std::int64_t> coming_seats_;
  std::int64_t needed_ = 0, needed_seats_ = 0, pending_total_ = 0;
  std::int64_t nodes_ = 0, node_budget_ = 0, steps_ = 0;
  std::vector<int> live_;                 // items: the undecided first
  std::vector<int> candidates_, picked_;  // workers of the item at hand, by its range in ways_
  std::vector<int> chosen_;
  std::vector<Part> whole_, found_;
  std::vector<std::int64_t> caps_;
  std::vector<std::uint64_t> undecided_;  // by worker
  std::vector<std::int64_t> wasted_;
  std::int64_t forced_ = 0;  // parts beyond one of the undecided
  std::int64_t seat_slack_ = 0;
  PartForest forest_;
  Fillings fillings_;
};

}  // namespace afore::placement::exact
