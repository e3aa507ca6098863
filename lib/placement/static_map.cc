#include "placement/static_map.h"

#include <algorithm>
#include <utility>

#include "placement/eplb.h"
#include "util/error.h"

namespace afore::placement {
namespace {

constexpr std::int64_t kMapEffort =
    40'000'000;                      // loads looked at per layer, some 40 ms; then what was found so far is taken
constexpr double kLeastGain = 1e-9;  // of the objective: what rounding may feign

class SlotSearch {
 public:
  SlotSearch(std::span<const std::int64_t> loads, int experts, int workers, std::vector<int> slots)
      : experts_(experts),
        workers_(workers),
        windows_(static_cast<int>(loads.size() / experts)),
        each_(static_cast<int>(slots.size()) / workers),
        load_(loads.begin(), loads.end()),
        slots_(std::move(slots)),
        count_(experts, 0),
        holds_(static_cast<std::size_t>(workers) * experts, 0),
        at_(static_cast<std::size_t>(windows_) * workers, 0.0) {
    for (std::size_t slot = 0; slot < slots_.size(); ++slot) {
      ++count_[slots_[slot]];
      ++held(static_cast<int>(slot) / each_, slots_[slot]);
    }
    for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) add_to_worker(slot / each_, slots_[slot]);
  }

  std::vector<int> run() {
    while (effort_ < kMapEffort && (best_exchange() || best_gift())) {
    }
    for (int w = 0; w < workers_; ++w)
      std::sort(slots_.begin() + static_cast<std::ptrdiff_t>(w) * each_,
                slots_.begin() + static_cast<std::ptrdiff_t>(w + 1) * each_);
    return std::move(slots_);
  }

 private:
  double share(int window, int expert) const {
    return load_[static_cast<std::size_t>(window) * experts_ + expert] / count_[expert];
  }
  double& at(int window, int worker) { return at_[static_cast<std::size_t>(window) * workers_ + worker]; }

  void add_to_worker(int worker, int expert) {
    for (int v = 0; v < windows_; ++v) at(v, worker) += share(v, expert);
  }

  int& held(int worker, int expert) { return holds_[static_cast<std::size_t>(worker) * experts_ + expert]; }
  bool holds(int worker, int expert) { return held(worker, expert) > 0; }
  // Whether looking at `cost` more is within bounds; where it is not, what was found so far is taken.
  bool spend(std::int64_t cost) { return (effort_ += cost) < kMapEffort; }

  // The three largest loads of each window: whatever two workers exchange, the largest of the others is among them.
  struct Top {
    int worker[3] = {-1, -1, -1};
    double load[3] = {0, 0, 0};
  };
  void find_tops() {
    tops_.assign(windows_, Top{});
    busiest_.assign(workers_, 0);
    objective_ = 0;
    for (int v = 0; v < windows_; ++v) {
      Top& top = tops_[v];
      for (int w = 0; w < workers_; ++w) {
        int place = 3;
        while (place > 0 && (top.worker[place - 1] < 0 || at(v, w) > top.load[place - 1])) --place;
        for (int i = 2; i > place; --i) top.worker[i] = top.worker[i - 1], top.load[i] = top.load[i - 1];
        if (place < 3) top.worker[place] = w, top.load[place] = at(v, w);
      }
      busiest_[top.worker[0]] = 1;
      objective_ += top.load[0];
    }
  }

  double after_exchange(int a, int b, int x, int y) {
    double sum = 0;
    for (int v = 0; v < windows_; ++v) {
      const double shift = share(v, y) - share(v, x);
      double largest = std::max(at(v, a) + shift, at(v, b) - shift);
      for (int i = 0; i < 3; ++i)
        if (tops_[v].worker[i] >= 0 && tops_[v].worker[i] != a && tops_[v].worker[i] != b) {
          largest = std::max(largest, tops_[v].load[i]);
          break;
        }
      sum += largest;
    }
    return sum;
  }

  // One slot of a busiest worker for a slot of any other.
  bool best_exchange() {
    find_tops();
    double best = objective_ * (1 - kLeastGain);
    int best_from = -1, best_to = -1;
    for (int from = 0; from < static_cast<int>(slots_.size()); ++from) {
      const int a = from / each_, x = slots_[from];
      if (!busiest_[a]) continue;
      for (int to = 0; to < static_cast<int>(slots_.size()); ++to) {
        const int b = to / each_, y = slots_[to];
        if (!spend(1)) break;
        if (b == a || y == x || holds(a, y) || holds(b, x)) continue;
        effort_ += windows_;
        const double sum = after_exchange(a, b, x, y);
        if (sum >= best) continue;
        best = sum;
        best_from = from;
        best_to = to;
      }
    }
    if (best_from < 0) return false;
    const int a = best_from / each_, b = best_to / each_, x = slots_[best_from], y = slots_[best_to];
    for (int v = 0; v < windows_; ++v) {
      const double shift = share(v, y) - share(v, x);
      at(v, a) += shift;
      at(v, b) -= shift;
    }
    --held(a, x), ++held(a, y), --held(b, y), ++held(b, x);
    std::swap(slots_[best_from], slots_[best_to]);
    return true;
  }

  // Loads of all workers of one window as if `slot` held `y`: its expert's other replicas take more, y's take less.
  double after_gift(int slot, int y) {
    const int x = slots_[slot], home = slot / each_;
    double sum = 0;
    for (int v = 0; v < windows_; ++v) {
      const double more = load_[static_cast<std::size_t>(v) * experts_ + x] / (count_[x] - 1) - share(v, x);
      const double y_new = load_[static_cast<std::size_t>(v) * experts_ + y] / (count_[y] + 1);
      const double less = share(v, y) - y_new;
      trial_.assign(at_.begin() + static_cast<std::ptrdiff_t>(v) * workers_,
                    at_.begin() + static_cast<std::ptrdiff_t>(v + 1) * workers_);
      for (const int w : holders_[x]) trial_[w] += more;
      for (const int w : holders_[y]) trial_[w] -= less;
      trial_[home] += y_new - share(v, x) - more;
      sum += *std::max_element(trial_.begin(), trial_.end());
    }
    return sum;
  }

  // A replica that is not its expert's last becomes one of an expert on a busiest worker.
  bool best_gift() {
    find_tops();
    holders_.assign(experts_, {});
    for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) holders_[slots_[slot]].push_back(slot / each_);
    std::vector<char> wanted(experts_, 0);
    for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot)
      if (busiest_[slot / each_]) wanted[slots_[slot]] = 1;
    double best = objective_ * (1 - kLeastGain);
    int best_slot = -1, best_expert = -1;
    for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) {
      if (count_[slots_[slot]] < 2) continue;
      for (int y = 0; y < experts_; ++y) {
        if (!spend(1)) break;
        if (!wanted[y] || y == slots_[slot] || holds(slot / each_, y)) continue;
        effort_ += static_cast<std::int64_t>(windows_) * workers_;
        const double sum = after_gift(slot, y);
        if (sum >= best) continue;
        best = sum;
        best_slot = slot;
        best_expert = y;
      }
    }
    if (best_slot < 0) return false;
    --held(best_slot / each_, slots_[best_slot]), ++held(best_slot / each_, best_expert);
    --count_[slots_[best_slot]];
    ++count_[best_expert];
    slots_[best_slot] = best_expert;
    std::fill(at_.begin(), at_.end(), 0.0);
    for (int slot = 0; slot < static_cast<int>(slots_.size()); ++slot) add_to_worker(slot / each_, slots_[slot]);
    return true;
  }

  int experts_, workers_, windows_, each_;
  std::vector<double> load_;                // [windows][experts]
  std::vector<int> slots_, count_, holds_;  // holds_: [workers][experts] replicas
  std::vector<double> at_, trial_;          // [windows][workers]; [workers]
  std::vector<Top> tops_;
  std::vector<char> busiest_;
  std::vector<std::vector<int>> holders_;
  double objective_ = 0;
  std::int64_t effort_ = 0;
};

}  // namespace

std::vector<double> expert_sums(std::span<const std::int64_t> loads, int experts) {
  AFORE_CHECK(experts > 0 && loads.size() % static_cast<std::size_t>(experts) == 0, "loads are not whole windows");
  std::vector<double> sums(experts, 0.0);
  for (std::size_t i = 0; i < loads.size(); ++i) sums[i % experts] += static_cast<double>(loads[i]);
  return sums;
}

std::vector<int> balance_slots(std::span<const std::int64_t> loads, int experts, int workers, int slots_per_worker) {
  EplbOptions options;
  options.replicas = workers * slots_per_worker;
  options.workers = workers;
  options.allow_duplicates = false;
  std::vector<int> start = eplb_physical_to_logical(expert_sums(loads, experts), options);
  if (loads.empty()) return start;
  return SlotSearch(loads, experts, workers, std::move(start)).run();
}

double largest_load(std::span<const std::int64_t> loads, std::span<const int> physical_to_logical, int workers) {
  std::vector<int> count(loads.size(), 0);
  for (const int expert : physical_to_logical)
    if (expert >= 0) ++count[expert];
  const std::size_t each = physical_to_logical.size() / static_cast<std::size_t>(workers);
  double largest = 0;
  for (int w = 0; w < workers; ++w) {
    double load = 0;
    for (const int expert : physical_to_logical.subspan(static_cast<std::size_t>(w) * each, each))
      if (expert >= 0) load += static_cast<double>(loads[expert]) / count[expert];
    largest = std::max(largest, load);
  }
  return largest;
}

}  // namespace afore::placement
