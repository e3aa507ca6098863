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

#include "placement/rivals.h"

namespace afore::placement {
namespace {

class FasterMoe final : public Rule {
 public:
  explicit FasterMoe(std::int64_t copy_budget) : copy_budget_(copy_budget) {}

  void decide(const Request& request, Book& book) override {
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

  static std::int64_t missing(const Book& book, int expert) {
    return book.workers() - std::ssize(book.after().holders(expert));
  }

  bool fits_everywhere(const Book& book, int expert) const {
    if (missing(book, expert) > copy_budget_ - std::ssize(book.copies())) return false;
    for (int w = 0; w < book.workers(); ++w)
      if (!book.holds(expert, w) && !book.can_copy(w)) return false;
    return true;
  }

  static void share_by_all(Book& book, int expert) {
    const std::int64_t count = book.count(expert);
    for (int w = 0; w < book.workers(); ++w) {
      const std::int64_t tokens = count / book.workers() + (w < count % book.workers() ? 1 : 0);
      if (tokens > 0) book.give(expert, w, tokens);
      else book.copy(expert, w);
    }
  }

  std::int64_t copy_budget_;
  std::vector<int> order_;
};

}  // namespace

std::unique_ptr<Policy> make_fastermoe(const Limits& limits) {
  return rival(std::make_unique<FasterMoe>(limits.copy_budget), limits);
}

}  // namespace afore::placement
