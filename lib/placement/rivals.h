#pragma once
// Other systems' rules, each in a file of its own, as published; what a source leaves open is said there and in
// docs/policies.md. A rule gives tokens to workers and thereby asks for copies into safe slots; `rival` puts it among
// the policies: bounds, the best without copies, and on demand (Limits::split) an exact split over the replicas the
// rule chose instead of its own, so that what comes from placement and what from splitting can be told apart.
#include <memory>
#include <span>
#include <vector>

#include "placement/policy.h"

namespace afore::placement {

// What a rule has decided so far for one target.
class Book {
 public:
  // Busy slots, those of primaries and those of draining workers are never taken.
  void open(const Request& request, std::int64_t copy_budget);

  int workers() const { return after_->workers(); }
  int experts() const { return after_->experts(); }
  std::int64_t count(int expert) const { return counts_[expert]; }
  // Before the target: where a policy re-homed experts, copies to come may be on lower workers.
  int primary(int expert) const { return before_->primary(expert); }
  bool holds(int expert, int worker) const { return after_->holds(expert, worker); }  // copies so far included
  // Whether give() can bring the expert to the worker: it is not pinned, and budget and a slot are left that no given
  // tokens need.
  bool can_copy(int expert, int worker) const;
  // What most rules begin with: tokens by worker if every expert stays on its primary (the result is their sum), and
  // the experts by tokens, most first, equal ones by index.
  std::int64_t primary_loads(std::vector<std::int64_t>& load) const;
  void hottest_first(std::vector<int>& experts) const;
  // The least loaded worker but `home` that has the expert or can get it; -1 when there is none.
  int least_loaded(int expert, int home, std::span<const std::int64_t> load) const;
  // The worker computes so many more tokens of the expert. Where it lacks the expert, it is copied there from its
  // primary into an empty slot, else over the least recently used replica without given tokens; false, and nothing is
  // done, when it cannot be.
  bool give(int expert, int worker, std::int64_t tokens);
  // Without tokens: a replica for other targets, or for tokens given later; one that stands is kept from being
  // overwritten by this target.
  bool copy(int expert, int worker);

  const std::vector<Copy>& copies() const { return copies_; }
  const std::vector<TokenShare>& tokens() const { return tokens_; }
  const LayerPlacement& after() const { return *after_; }

 private:
  int free_slot(int worker) const;
  bool bring(int expert, int worker);

  std::span<const std::int64_t> counts_;
  std::span<const std::uint8_t> closed_;
  std::span<const std::int64_t> last_used_;
  std::span<const std::uint8_t> pinned_;
  std::span<const WorkerTraits> traits_;
  const LayerPlacement* before_ = nullptr;
  std::int64_t copies_left_ = 0;
  std::vector<std::uint8_t> needed_;  // by placement.index(): tokens were given there, or a copy goes there
  std::vector<Copy> copies_;
  std::vector<TokenShare> tokens_;
  std::unique_ptr<LayerPlacement> after_;
};

class Rule {
 public:
  virtual ~Rule() = default;
  // Gives every token of the demand once. Owns what it remembers from target to target (request.target.layer).
  virtual void decide(const Request& request, Book& book) = 0;
};

std::unique_ptr<Policy> rival(std::unique_ptr<Rule> rule, const Limits& limits);

std::unique_ptr<Policy> make_llep(const Limits& limits);
std::unique_ptr<Policy> make_quota(const Limits& limits);
std::unique_ptr<Policy> make_metro(const Limits& limits);
std::unique_ptr<Policy> make_lplb(const Limits& limits);
std::unique_ptr<Policy> make_harmoeny(const Limits& limits);
std::unique_ptr<Policy> make_lina(const Limits& limits);
std::unique_ptr<Policy> make_libra(const Limits& limits);
std::unique_ptr<Policy> make_fastermoe(const Limits& limits);

}  // namespace afore::placement
