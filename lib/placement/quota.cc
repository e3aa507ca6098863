// UltraEP's quota rule (arXiv 2606.04101; github.com/Dots-Infra/UltraEP, csrc/kernels/placement.cu): binary search on
// the largest load in tokens, from the mean to the largest load of the primaries. An oracle says whether a limit can be
// met: workers over it, fullest first, export from their experts, largest first, to the worker with most slack that
// has a free slot and not yet a part of the expert. A part below ceil(need / workers that could take one) is refused,
// so that few slots are not spent on small parts.
//
// There replicas are made anew for each target. Here they stay: one that stands serves again without a copy, its slot
// counts as taken by it, and among equal slacks such a worker is preferred. Copies are bounded by the plan's budget.
// Left out: the kernel first probes the mean, then 1 and 2 % of the largest load above, and takes what works, to save
// time. Its option to keep one token on the primary is off, as in its tests; its default is on.
#include <algorithm>
#include <numeric>

#include "placement/rivals.h"
#include "placement/traits.h"
#include "util/error.h"

namespace afore::placement {
namespace {

class Quota final : public Rule {
 public:
  explicit Quota(std::int64_t copy_budget) : copy_budget_(copy_budget) {}

  void decide(const Request& request, Book& book) override {
    const std::int64_t total = weigh(request, book);
    std::int64_t low = ceil_div(total, book.workers()), high = std::max(low, load_[sources_.front()]);
    chosen_.clear();  // at the largest load nothing is exported
    while (low < high) {
      const std::int64_t limit = low + (high - low) / 2;
      if (fits(limit, request, book)) {
        high = limit;
        chosen_ = parts_;
      } else {
        low = limit + 1;
      }
    }
    give(request, book);
  }

 private:
  struct Part {
    int expert = 0, worker = 0;
    std::int64_t tokens = 0;
    bool stands = false;
  };
  enum class Room { none, copy, stands };

  static bool closed(const Request& request, int worker, int slot) {
    return request.is_busy(worker, slot) || is_kept(request.placement, request.workers, worker, slot);
  }

  // Loads of the primaries, whose sum is returned, sources and their experts in order, and slots that may be
  // overwritten.
  std::int64_t weigh(const Request& request, const Book& book) {
    const std::int64_t total = book.primary_loads(load_);
    open_slots_.assign(book.workers(), 0);
    experts_of_.resize(book.workers());
    for (std::vector<int>& experts : experts_of_) experts.clear();
    for (int e = 0; e < book.experts(); ++e)
      if (book.count(e) > 0) experts_of_[book.primary(e)].push_back(e);
    for (std::vector<int>& experts : experts_of_)
      std::stable_sort(experts.begin(), experts.end(), [&](int a, int b) { return book.count(a) > book.count(b); });
    sources_.resize(book.workers());
    std::iota(sources_.begin(), sources_.end(), 0);
    std::stable_sort(sources_.begin(), sources_.end(), [&](int a, int b) { return load_[a] > load_[b]; });
    for (int w = 0; w < book.workers(); ++w)
      for (int slot = 0; slot < request.placement.slots_per_worker(); ++slot)
        open_slots_[w] += !request.placement.is_primary_slot(w, slot) && !closed(request, w, slot);
    return total;
  }

  // The oracle; its plan is in parts_.
  bool fits(std::int64_t limit, const Request& request, const Book& book) {
    parts_.clear();
    slots_left_ = open_slots_;
    copies_left_ = copy_budget_;
    slack_.resize(load_.size());
    std::int64_t excess = 0, slack = 0;
    for (std::size_t w = 0; w < load_.size(); ++w) {
      excess += std::max<std::int64_t>(0, load_[w] - limit);
      slack += slack_[w] = std::max<std::int64_t>(0, limit - load_[w]);
    }
    if (excess > slack) return false;
    for (const int source : sources_) {
      std::int64_t need = load_[source] - limit;
      if (need <= 0) break;
      for (const int expert : experts_of_[source]) {
        need -= export_from(expert, need, request, book);
        if (need == 0) break;
      }
      if (need > 0) return false;
    }
    return true;
  }

  // Tokens of the expert, at most `need`, that others take.
  std::int64_t export_from(int expert, std::int64_t need, const Request& request, const Book& book) {
    std::int64_t gone = 0;
    taken_.assign(load_.size(), 0);
    while (gone < need && gone < book.count(expert)) {
      int best = -1, targets = 0;
      Room best_room = Room::none;
      for (int w = 0; w < book.workers(); ++w) {
        if (slack_[w] == 0 || taken_[w] != 0) continue;
        const Room room = room_for(expert, w, request);
        if (room == Room::none) continue;
        ++targets;
        if (best >= 0 && (slack_[w] < slack_[best] || (slack_[w] == slack_[best] && room <= best_room))) continue;
        best = w;
        best_room = room;
      }
      if (best < 0) break;
      const std::int64_t tokens = std::min({need - gone, slack_[best], book.count(expert) - gone});
      if (tokens < ceil_div(need - gone, targets)) break;
      take(expert, best, tokens, best_room, request);
      gone += tokens;
    }
    return gone;
  }

  Room room_for(int expert, int worker, const Request& request) const {
    const int slot = request.placement.slot_of(expert, worker);
    if (slot == kStagingSlot || (slot != kNoSlot && closed(request, worker, slot))) return Room::stands;
    if (slots_left_[worker] == 0) return Room::none;  // also when it stands: the slot may be one of those promised
    if (slot != kNoSlot) return Room::stands;
    return copies_left_ > 0 && !request.is_pinned(expert) ? Room::copy : Room::none;
  }

  void take(int expert, int worker, std::int64_t tokens, Room room, const Request& request) {
    const int slot = request.placement.slot_of(expert, worker);
    if (slot == kNoSlot || (slot != kStagingSlot && !closed(request, worker, slot))) slots_left_[worker] -= 1;
    copies_left_ -= room == Room::copy;
    slack_[worker] -= tokens;
    taken_[worker] = 1;
    parts_.push_back({expert, worker, tokens, room == Room::stands});
  }

  // Parts on replicas that stand come first, so that no copy takes their slots.
  void give(const Request& request, Book& book) {
    rest_.assign(request.counts.begin(), request.counts.end());
    for (const bool stands : {true, false})
      for (const Part& part : chosen_) {
        if (part.stands != stands) continue;
        AFORE_CHECK(book.give(part.expert, part.worker, part.tokens), "the quota rule found a slot that is not there");
        rest_[part.expert] -= part.tokens;
      }
    for (int e = 0; e < book.experts(); ++e)
      if (rest_[e] > 0) book.give(e, book.primary(e), rest_[e]);
  }

  std::int64_t copy_budget_, copies_left_ = 0;
  std::vector<std::int64_t> load_, slack_, rest_;
  std::vector<int> open_slots_, slots_left_, sources_;
  std::vector<std::vector<int>> experts_of_;
  std::vector<char> taken_;  // by worker: has a part of the expert at hand
  std::vector<Part> parts_, chosen_;
};

}  // namespace

std::unique_ptr<Policy> make_quota(const Limits& limits) {
  return rival(std::make_unique<Quota>(limits.copy_budget), limits);
}

}  // namespace afore::placement
