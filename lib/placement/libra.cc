// Libra (ICLR 2026; README of SNU-ARC/Libra and public notes): replicas are planned from predicted demand, then tokens
// are shared by the true one. Planning: the hottest expert of the most loaded worker is replicated on the least loaded
// one that may take it, again and again until the slots are full. Sharing: tokens of overloaded workers go to
// underloaded ones that hold a replica.
// Libra spends a part of the slots (N alpha of N) on experts that a device's own tokens ask for, and computes those
// before the others; attention workers hold the tokens here, so no FFN worker has its own and that part is empty.
// Assumed: while planning, an expert's replicas share it evenly; planning also ends where a replica would load its
// worker as much as the busiest; each target plans from the primaries alone and uses a replica that stands without a
// copy; the hottest expert with a holder below the mean gives first, to its least loaded holder.
#include <algorithm>

#include "placement/rivals.h"

namespace afore::placement {
namespace {

class Libra final : public Rule {
 public:
  void decide(const Request& request, Book& book) override {
    left_.assign(request.counts.begin(), request.counts.end());
    replicas_.assign(request.counts.size(), 1);
    planned_.assign(request.counts.size() * book.workers(), 0);
    for (int e = 0; e < book.experts(); ++e)
      if (left_[e] > 0) planned_[at(book, e, book.primary(e))] = 1;
    mean_ = ceil_div(book.primary_loads(load_), book.workers());
    while (replicate(book)) {
    }
    share_tokens(book);
  }

 private:
  static std::size_t at(const Book& book, int expert, int worker) {
    return static_cast<std::size_t>(expert) * book.workers() + worker;
  }

  std::int64_t share(const Book& book, int expert) const { return ceil_div(book.count(expert), replicas_[expert]); }

  // One replica more, of the most loaded worker's hottest expert that can have one; false when there is none.
  bool replicate(Book& book) {
    const int from = static_cast<int>(std::max_element(load_.begin(), load_.end()) - load_.begin());
    if (load_[from] <= mean_) return false;
    hottest_.clear();
    for (int e = 0; e < book.experts(); ++e)
      if (planned_[at(book, e, from)] != 0) hottest_.push_back(e);
    std::stable_sort(hottest_.begin(), hottest_.end(), [&](int a, int b) { return share(book, a) > share(book, b); });
    for (const int e : hottest_) {
      const std::int64_t room = load_[from] - ceil_div(book.count(e), replicas_[e] + 1);
      int to = least_loaded(book, e, true);
      if (to < 0 || load_[to] >= room) to = least_loaded(book, e, false);
      if (to < 0 || load_[to] >= room) continue;
      book.copy(e, to);
      add_replica(book, e, to);
      return true;
    }
    return false;
  }

  // Of the workers the expert is not planned on: those where it stands, or those with room for a copy.
  int least_loaded(const Book& book, int expert, bool standing) const {
    int best = -1;
    for (int w = 0; w < book.workers(); ++w) {
      if (planned_[at(book, expert, w)] != 0 || (best >= 0 && load_[w] >= load_[best])) continue;
      if (standing ? book.holds(expert, w) : book.can_copy(expert, w)) best = w;
    }
    return best;
  }

  void add_replica(const Book& book, int expert, int worker) {
    const std::int64_t before = share(book, expert);
    for (int w = 0; w < book.workers(); ++w)
      if (planned_[at(book, expert, w)] != 0) load_[w] -= before;
    planned_[at(book, expert, worker)] = 1;
    replicas_[expert] += 1;
    for (int w = 0; w < book.workers(); ++w)
      if (planned_[at(book, expert, w)] != 0) load_[w] += share(book, expert);
  }

  // From here on loads are of tokens, all of them at the primaries first.
  void share_tokens(Book& book) {
    book.primary_loads(load_);
    for (int w = 0; w < book.workers(); ++w) {
      while (load_[w] > mean_ && relieve(book, w)) {
      }
    }
    for (int e = 0; e < book.experts(); ++e)
      if (left_[e] > 0) book.give(e, book.primary(e), left_[e]);
  }

  // Receivers never pass the mean, so that an overloaded worker has only tokens of its own primaries.
  bool relieve(Book& book, int worker) {
    int expert = -1, to = -1;
    for (int e = 0; e < book.experts(); ++e) {
      if (left_[e] == 0 || book.primary(e) != worker || (expert >= 0 && left_[e] <= left_[expert])) continue;
      const int holder = least_loaded_holder(book, e);
      if (load_[holder] >= mean_) continue;
      expert = e;
      to = holder;
    }
    if (expert < 0) return false;
    const std::int64_t tokens = std::min({left_[expert], load_[worker] - mean_, mean_ - load_[to]});
    book.give(expert, to, tokens);
    left_[expert] -= tokens;
    load_[worker] -= tokens;
    load_[to] += tokens;
    return true;
  }

  int least_loaded_holder(const Book& book, int expert) const {
    const auto holders = book.after().holders(expert);
    return *std::min_element(holders.begin(), holders.end(), [&](int a, int b) { return load_[a] < load_[b]; });
  }

  std::vector<std::int64_t> load_, left_, replicas_;
  std::vector<std::uint8_t> planned_;  // expert-major
  std::vector<int> hottest_;
  std::int64_t mean_ = 0;
};

}  // namespace

std::unique_ptr<Policy> make_libra(const Limits& limits) { return rival(std::make_unique<Libra>(), limits); }

}  // namespace afore::placement
