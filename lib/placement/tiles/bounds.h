#pragma once
// Lower bounds on the largest tile load when copies may be made into open slots (docs/metrics.md "lower bounds"), cheap
// ones first. Evicting a replica only removes choices, so what stands is taken to stay.
#include <cstdint>
#include <span>
#include <vector>

#include "placement/tiles/flow.h"

namespace afore::placement::tiles {

struct Room {
  int copies = 0;         // min(copy budget, open slots)
  int total = 0;          // open slots
  std::vector<int> open;  // by worker: slots neither busy nor a primary's; 0 on draining workers
};

class TileBounds {
 public:
  // Volume (`floor`), or what remains with copies of the cut that proves `reached` without them.
  Tiles by_cut(const Flow& flow, const Room& room, Tiles floor, Tiles reached, std::span<const int> cut);
  // The bound, raised by other cuts (all but the workers that cannot be filled, prefixes of workers by confined load,
  // up to 4 workers all), hot sets and the count of copies, unless it is `reached`, a load some plan has. Cuts come
  // first: where several bounds agree, they are the proof a reader can check by hand.
  Tiles improve(const Flow& flow, const Room& room, Tiles reached);
  // The bound, raised by what is closed() in the flow now: true where that proves more.
  bool raise(const Flow& flow, const Room& room);
  Tiles bound() const { return bound_; }
  // Ascending worker set whose confined work, less the largest experts copies could take out, proves the bound; empty
  // where another bound does.
  const std::vector<int>& cut() const { return cut_; }

 private:
  void gather(const Flow& flow);
  void try_fillable(const Flow& flow, const Room& room);
  void try_prefixes(const Flow& flow, const Room& room);
  void try_all_cuts(const Flow& flow, const Room& room);
  void try_cut(const Flow& flow, const Room& room, std::span<const int> workers);
  void try_hot_sets(const Flow& flow, const Room& room);
  void count_copies(const Room& room);
  bool copies_suffice(const Room& room, Tiles limit) const;
  std::int64_t without_largest(std::int64_t total, int copies);

  Tiles bound_ = 0;
  std::vector<int> cut_, closed_, order_, experts_, holders_, rank_;
  std::vector<std::int64_t> confined_;  // by worker: tiles held there alone
  std::vector<std::int64_t> reach_;     // by worker: tiles of all experts held there, and of copies it may get
  std::vector<int> first_, next_;
  std::vector<Tiles> pieces_, pool_;  // confined experts by worker, largest first where sorted
  std::vector<int> last_;             // by expert
  std::vector<std::uint8_t> inside_;
};

}  // namespace afore::placement::tiles
