// Lina (arXiv 2210.17223, its inference part, as public notes summarise it): an expert gets devices in proportion to
// its estimated popularity, n_e = N p_e of N, the hottest first, and its tokens are shared evenly by them. The estimate
// is the demand that is given, so --demand-source last_step or window is how Lina is meant to run.
// Lina's own estimate, from the experts that the tokens chose in earlier layers, needs per-token paths and is not
// reproduced; nor is its second phase, which waits for the gate and allocates anew where the hottest experts were
// guessed wrong; nor the packing of cold experts, as primaries stay where they are here. Assumed: where a device has
// more than one expert, N counts slots; N p_e is rounded down, to one at least; replicas that stand are used first;
// copies go to the least loaded workers.
#include <algorithm>

#include "placement/rivals.h"

namespace afore::placement {
namespace {

class Lina final : public Rule {
 public:
  void decide(const Request&, Book& book) override {
    const std::int64_t total = book.primary_loads(load_);
    const std::int64_t slots = std::int64_t{book.workers()} * book.after().slots_per_worker();
    book.hottest_first(order_);
    for (const int e : order_) {
      const std::int64_t count = book.count(e);
      if (count == 0) break;
      choose_workers(book, e, std::min(count, count * slots / total));
      share_evenly(book, e);
    }
  }

 private:
  void choose_workers(Book& book, int expert, std::int64_t wanted) {
    const int home = book.primary(expert);
    load_[home] -= book.count(expert);
    chosen_.assign(1, home);
    while (std::ssize(chosen_) < wanted) {
      int to = least_loaded(book, expert, true);
      if (to < 0) to = least_loaded(book, expert, false);
      if (to < 0) return;
      book.copy(expert, to);
      chosen_.push_back(to);
    }
  }

  int least_loaded(const Book& book, int expert, bool standing) const {
    int best = -1;
    for (int w = 0; w < book.workers(); ++w) {
      if (best >= 0 && load_[w] >= load_[best]) continue;
      if (std::find(chosen_.begin(), chosen_.end(), w) != chosen_.end()) continue;
      if (standing ? book.holds(expert, w) : book.can_copy(expert, w)) best = w;
    }
    return best;
  }

  void share_evenly(Book& book, int expert) {
    const std::int64_t count = book.count(expert), replicas = std::ssize(chosen_);
    for (std::int64_t i = 0; i < replicas; ++i) {
      const std::int64_t tokens = count / replicas + (i < count % replicas ? 1 : 0);
      book.give(expert, chosen_[i], tokens);
      load_[chosen_[i]] += tokens;
    }
  }

  std::vector<std::int64_t> load_;
  std::vector<int> order_, chosen_;
};

}  // namespace

std::unique_ptr<Policy> make_lina(const Limits& limits) { return rival(std::make_unique<Lina>(), limits); }

}  // namespace afore::placement
