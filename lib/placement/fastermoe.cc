// FasterMoE's dynamic shadowing (PPoPP 2022; the policy released with FastMoE): experts are taken hottest first, and
// each is put on all workers as long as the layer's predicted time gets shorter by it, counting the broadcasts of all
// taken so far. The predicted time is that of the hottest expert not yet shadowed, several experts of one worker
// or not.
// Its model is of training: compute three times, features sent four times, in a flat network. Serving computes once,
// and the layer's cost has no links, so compute is all that is counted. A broadcast takes one transfer there; here it
// is copies that leave the primary one after another, for the workers that lack the expert. Each device computes its
// own tokens of a shadowed expert there; FFN workers have no tokens of their own and share them evenly. Assumed: the
// first expert that slots or the budget keep from some worker ends it.
#include <algorithm>
#include <numeric>

#include "placement/rivals.h"

namespace afore::placement {
namespace {

class FasterMoe final : public Rule {
 public:
  explicit FasterMoe(std::int64_t copy_budget) : copy_budget_(copy_budget) {}

  void decide(const Request& request, Book& book) override {
    list_places(request);
    book.hottest_first(order_);
    std::size_t shadowed = 0;
    Nanos best_ns = compute_ns(request.cost, book.count(order_[0])), shadow_ns = 0;
    for (; shadowed + 1 < order_.size(); ++shadowed) {
      const int e = order_[shadowed];
      if (!fits_everywhere(book, e)) break;
      shadow_ns += missing(book, e) * request.cost.copy_ns;
      const Nanos with_ns = compute_ns(request.cost, book.count(order_[shadowed + 1])) + shadow_ns;
      if (with_ns >= best_ns) break;
      best_ns = with_ns;
      share_by_all(book, e);
    }
    for (std::size_t i = shadowed; i < order_.size() && book.count(order_[i]) > 0; ++i)
      book.give(order_[i], book.primary(order_[i]), book.count(order_[i]));
  }

 private:
  static Nanos compute_ns(const LayerCost& cost, std::int64_t tokens) {
    return tokens == 0 ? 0 : cost.c1_ns * ceil_div(tokens, cost.tile_tokens) + cost.c2_ns;
  }

  // "All workers" are those that do not drain.
  void list_places(const Request& request) {
    places_.clear();
    for (int w = 0; w < request.placement.workers(); ++w)
      if (!drains(request.workers, w)) places_.push_back(w);
    if (!places_.empty()) return;
    places_.resize(request.placement.workers());
    std::iota(places_.begin(), places_.end(), 0);
  }

  std::int64_t missing(const Book& book, int expert) const {
    return std::count_if(places_.begin(), places_.end(), [&](int w) { return !book.holds(expert, w); });
  }

  bool fits_everywhere(const Book& book, int expert) const {
    if (missing(book, expert) > copy_budget_ - std::ssize(book.copies())) return false;
    for (const int w : places_)
      if (!book.holds(expert, w) && !book.can_copy(expert, w)) return false;
    return true;
  }

  void share_by_all(Book& book, int expert) const {
    const std::int64_t count = book.count(expert), all = std::ssize(places_);
    for (std::int64_t i = 0; i < all; ++i) {
      const std::int64_t tokens = count / all + (i < count % all ? 1 : 0);
      if (tokens > 0) book.give(expert, places_[i], tokens);
      else book.copy(expert, places_[i]);
    }
  }

  std::int64_t copy_budget_;
  std::vector<int> order_, places_;
};

}  // namespace

std::unique_ptr<Policy> make_fastermoe(const Limits& limits) {
  return rival(std::make_unique<FasterMoe>(limits.copy_budget), limits);
}

}  // namespace afore::placement
