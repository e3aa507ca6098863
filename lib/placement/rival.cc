#include <algorithm>
#include <tuple>

#include "placement/frame.h"
#include "placement/rivals.h"
#include "util/error.h"

namespace afore::placement {
namespace {

class RivalPolicy final : public Policy {
 public:
  RivalPolicy(std::unique_ptr<Rule> rule, const Limits& limits)
      : rule_(std::move(rule)), limits_(limits), frame_(limits) {}

  void plan(const Request& request, Decision& decision) override {
    decision.clear();
    frame_.stand(request, decision, limits_.split == Split::exact);
    book_.open(request, limits_.copy_budget);
    rule_->decide(request, book_);
    decision.copies = book_.copies();
    take_tokens(request, decision);
    if (limits_.split == Split::exact) {
      decision.assignment_tokens.clear();
      frame_.split(book_.after(), request);
      decision.assignment = frame_.board().assignment();
    }
    frame_.certify(request, decision);
  }

 private:
  void take_tokens(const Request& request, Decision& decision) {
    tokens_ = book_.tokens();
    std::sort(tokens_.begin(), tokens_.end(), [](const TokenShare& a, const TokenShare& b) {
      return std::tie(a.expert, a.worker) < std::tie(b.expert, b.worker);
    });
    left_.assign(request.counts.begin(), request.counts.end());
    std::vector<TokenShare>& out = decision.assignment_tokens;
    for (const TokenShare& share : tokens_) {
      left_[share.expert] -= share.tokens;
      if (!out.empty() && out.back().expert == share.expert && out.back().worker == share.worker)
        out.back().tokens += share.tokens;
      else out.push_back(share);
    }
    AFORE_CHECK(std::all_of(left_.begin(), left_.end(), [](std::int64_t n) { return n == 0; }),
                "a rule does not give every token once");
    for (const TokenShare& share : out)
      decision.assignment.push_back({share.expert, share.worker, ceil_div(share.tokens, request.cost.tile_tokens)});
  }

  std::unique_ptr<Rule> rule_;
  Limits limits_;
  Frame frame_;
  Book book_;
  std::vector<TokenShare> tokens_;
  std::vector<std::int64_t> left_;
};

}  // namespace

std::unique_ptr<Policy> rival(std::unique_ptr<Rule> rule, const Limits& limits) {
  return std::make_unique<RivalPolicy>(std::move(rule), limits);
}

}  // namespace afore::placement
