// LLEP, least-loaded expert parallelism (arXiv 2601.17111, as public notes summarise it): where the busiest worker has
// more than lambda times the mean load, workers give away what they have over alpha times the mean, heaviest experts
// first, in pieces to the least loaded workers, which get the expert's weights with them; pieces below m tokens stay.
// The weights are sent for one target; here they go into slots, and a replica that is still there is used without a
// copy.
#include <algorithm>

#include "placement/rivals.h"

namespace afore::placement {
namespace {

// Assumed: the notes give no values, and say that alpha, m and lambda are tuned per model.
constexpr double kAlpha = 1.0, kLambda = 1.3;
constexpr std::int64_t kMinTokens = 64;

class Llep final : public Rule {
 public:
  void decide(const Request&, Book& book) override {
    const std::int64_t total = book.primary_loads(load_);
    const double mean = static_cast<double>(total) / book.workers();
    const auto cap = static_cast<std::int64_t>(kAlpha * mean);
    const bool skewed = static_cast<double>(*std::max_element(load_.begin(), load_.end())) > kLambda * mean;

    book.hottest_first(order_);
    for (const int e : order_) {
      if (book.count(e) == 0) continue;
      const int home = book.primary(e);
      const std::int64_t rest = book.count(e) - (skewed ? spill(book, e, home, cap) : 0);
      if (rest > 0) book.give(e, home, rest);
    }
  }

 private:
  // How many of the expert's tokens others took.
  std::int64_t spill(Book& book, int expert, int home, std::int64_t cap) {
    std::int64_t gone = 0;
    while (load_[home] > cap) {
      const int to = book.least_loaded(expert, home, load_);
      if (to < 0) break;
      const std::int64_t piece = std::min({book.count(expert) - gone, load_[home] - cap, cap - load_[to]});
      if (piece < kMinTokens || !book.give(expert, to, piece)) break;
      load_[home] -= piece;
      load_[to] += piece;
      gone += piece;
    }
    return gone;
  }

  std::vector<std::int64_t> load_;
  std::vector<int> order_;
};

}  // namespace

std::unique_ptr<Policy> make_llep(const Limits& limits) { return rival(std::make_unique<Llep>(), limits); }

}  // namespace afore::placement
