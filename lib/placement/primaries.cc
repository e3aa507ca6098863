#include "placement/primaries.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "util/error.h"

namespace afore::placement {
namespace {

// Of the history, evenly spaced: an exchange is judged on these.
constexpr std::size_t kSamples = 16;
constexpr std::int64_t kExchangeEffort = 20'000'000;  // loads looked at, after which no further exchange is sought

class Balancer {
 public:
  Balancer(std::span<const std::int64_t> loads, int experts, int workers)
      : experts_(experts), workers_(workers), home_(experts, -1), of_worker_(workers), sum_(experts, 0) {
    AFORE_CHECK(loads.size() % experts == 0, "loads are not whole targets");
    const std::size_t targets = loads.size() / experts;
    for (std::size_t i = 0; i < loads.size(); ++i) sum_[i % experts] += loads[i];
    const std::size_t count = std::min(targets, kSamples);
    for (std::size_t s = 0; s < count; ++s) {
      const auto row = loads.subspan(s * targets / count * experts, experts);
      samples_.insert(samples_.end(), row.begin(), row.end());
    }
    count_ = static_cast<int>(count);
  }

  void longest_first() {
    std::vector<int> order(experts_);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return sum_[a] > sum_[b]; });
    const std::size_t room = (experts_ + workers_ - 1) / workers_;
    std::vector<std::int64_t> load(workers_, 0);
    for (const int expert : order) {
      int best = -1;
      for (int w = 0; w < workers_; ++w)
        if (of_worker_[w].size() < room && (best < 0 || load[w] < load[best])) best = w;
      home_[expert] = best;
      of_worker_[best].push_back(expert);
      load[best] += sum_[expert];
    }
  }

  // Each round exchanges the pair that lowers the sum of the samples' largest loads most; one of the pair stands on a
  // worker that is the busiest of some sample.
  void exchange() {
    at_.assign(static_cast<std::size_t>(count_) * workers_, 0);
    for (int e = 0; e < experts_; ++e)
      for (int s = 0; s < count_; ++s) at(s, home_[e]) += sample(s, e);
    while (best_exchange()) {
    }
  }

  // Groups of experts to workers, by what workers have of earlier layers.
  void spread(std::span<std::int64_t> earlier) {
    std::vector<std::int64_t> sum(workers_, 0);
    for (int e = 0; e < experts_; ++e) sum[home_[e]] += sum_[e];
    std::vector<int> groups(workers_), takers(workers_), taker(workers_);
    std::iota(groups.begin(), groups.end(), 0);
    std::iota(takers.begin(), takers.end(), 0);
    std::stable_sort(groups.begin(), groups.end(), [&](int a, int b) { return sum[a] > sum[b]; });
    std::stable_sort(takers.begin(), takers.end(), [&](int a, int b) { return earlier[a] < earlier[b]; });
    for (int i = 0; i < workers_; ++i) {
      taker[groups[i]] = takers[i];
      earlier[takers[i]] += sum[groups[i]];
    }
    for (int& home : home_) home = taker[home];
  }

  int home(int expert) const { return home_[expert]; }

 private:
  std::int64_t sample(int s, int expert) const { return samples_[static_cast<std::size_t>(s) * experts_ + expert]; }
  std::int64_t& at(int s, int worker) { return at_[static_cast<std::size_t>(s) * workers_ + worker]; }

  // The three largest loads of each sample: whatever two workers exchange, the largest of the others is among them.
  struct Top {
    int worker[3] = {-1, -1, -1};
    std::int64_t load[3] = {0, 0, 0};
  };
  void find_tops() {
    tops_.assign(count_, Top{});
    for (int s = 0; s < count_; ++s)
      for (int w = 0; w < workers_; ++w) {
        Top& top = tops_[s];
        int place = 3;
        while (place > 0 && (top.worker[place - 1] < 0 || at(s, w) > top.load[place - 1])) --place;
        for (int i = 2; i > place; --i) top.worker[i] = top.worker[i - 1], top.load[i] = top.load[i - 1];
        if (place < 3) top.worker[place] = w, top.load[place] = at(s, w);
      }
  }

  // Sum over samples of the largest load when workers a and b exchange experts x and y.
  std::int64_t after(int a, int b, int x, int y) {
    std::int64_t sum = 0;
    for (int s = 0; s < count_; ++s) {
      const std::int64_t shift = sample(s, y) - sample(s, x);
      std::int64_t largest = std::max(at(s, a) + shift, at(s, b) - shift);
      for (int i = 0; i < 3; ++i)
        if (tops_[s].worker[i] >= 0 && tops_[s].worker[i] != a && tops_[s].worker[i] != b) {
          largest = std::max(largest, tops_[s].load[i]);
          break;
        }
      sum += largest;
    }
    return sum;
  }

  bool best_exchange() {
    find_tops();
    std::int64_t best = 0;
    std::vector<char> busiest(workers_, 0);
    for (const Top& top : tops_) {
      best += top.load[0];
      if (top.worker[0] >= 0) busiest[top.worker[0]] = 1;
    }
    int best_x = -1, best_y = -1;
    for (int a = 0; a < workers_; ++a) {
      if (!busiest[a]) continue;
      for (const int x : of_worker_[a])
        for (int y = 0; y < experts_ && effort_ < kExchangeEffort; ++y) {
          if (home_[y] == a) continue;
          effort_ += count_;
          const std::int64_t sum = after(a, home_[y], x, y);
          if (sum >= best) continue;
          best = sum;
          best_x = x;
          best_y = y;
        }
    }
    if (best_x < 0) return false;
    swap(best_x, best_y);
    return true;
  }

  void swap(int x, int y) {
    const int a = home_[x], b = home_[y];
    for (int s = 0; s < count_; ++s) {
      at(s, a) += sample(s, y) - sample(s, x);
      at(s, b) += sample(s, x) - sample(s, y);
    }
    std::replace(of_worker_[a].begin(), of_worker_[a].end(), x, y);
    std::replace(of_worker_[b].begin(), of_worker_[b].end(), y, x);
    std::swap(home_[x], home_[y]);
  }

  int experts_, workers_, count_ = 0;
  std::vector<int> home_;
  std::vector<std::vector<int>> of_worker_;
  std::vector<std::int64_t> sum_, samples_, at_;
  std::vector<Top> tops_;
  std::int64_t effort_ = 0;
};

}  // namespace

LayerPlacement balance_primaries(std::span<const std::int64_t> loads, int experts, int workers, int redundant_slots,
                                 std::span<std::int64_t> earlier) {
  if (loads.empty()) return LayerPlacement::initial(experts, workers, redundant_slots);
  Balancer balancer(loads, experts, workers);
  balancer.longest_first();
  balancer.exchange();
  balancer.spread(earlier);
  LayerPlacement placement(experts, workers, (experts + workers - 1) / workers + redundant_slots);
  std::vector<int> filled(workers, 0);
  for (int expert = 0; expert < experts; ++expert) {
    const int worker = balancer.home(expert);
    placement.set(worker, filled[worker]++, expert);
    placement.fix_primary(expert, worker);
  }
  return placement;
}

}  // namespace afore::placement
