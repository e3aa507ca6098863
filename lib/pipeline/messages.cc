#include "pipeline/messages.h"

namespace afore::pipeline {
namespace {

// The number of each share's first token among its expert's. `tokens` is sorted by (expert, worker).
std::vector<std::int64_t> first_tokens(const Plan& plan, std::span<const TokenShare> tokens,
                                       const LayerPlacement& placement) {
  std::vector<std::int64_t> first(tokens.size());
  for (std::size_t begin = 0, end = 0; begin < tokens.size(); begin = end) {
    const int expert = tokens[begin].expert;
    const int last = plan.is_virtual ? -1 : placement.primary(expert);
    std::int64_t next = 0;
    std::size_t last_at = tokens.size();
    for (; end < tokens.size() && tokens[end].expert == expert; ++end) {
      if (tokens[end].worker == last) {
        last_at = end;
      } else {
        first[end] = next;
        next += tokens[end].tokens;
      }
    }
    if (last_at < tokens.size()) first[last_at] = next;
  }
  return first;
}

}  // namespace

void find_token_shares(const Plan& plan, std::span<const std::int64_t> counts, std::int64_t tile_tokens,
                       const LayerPlacement& placement, std::vector<TokenShare>& tokens) {
  if (!plan.is_virtual && plan.assignment_tokens.empty())
    return token_shares(plan.assignment, counts, tile_tokens, placement, tokens);
  tokens.assign(plan.assignment_tokens.begin(), plan.assignment_tokens.end());
  if (!plan.is_virtual) return;
  // Every worker holds every expert: whole tiles in worker order, the last takes the short one.
  std::int64_t left = 0;
  for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
    const TileShare& share = plan.assignment[i];
    if (i == 0 || plan.assignment[i - 1].expert != share.expert) left = counts[share.expert];
    const std::int64_t take = std::min(left, share.tiles * tile_tokens);
    tokens.push_back({share.expert, share.worker, take});
    left -= take;
  }
}

PlanPtr make_published(Plan plan, const Demand& demand, std::int64_t serial, std::int64_t tile_tokens, int workers,
                       const LayerPlacement& placement) {
  auto published = std::make_shared<PublishedPlan>();
  published->phase = demand.phase;
  published->tokens = demand.tokens;
  published->serial = serial;
  published->tiles.assign(workers, 0);
  published->worker_tokens.assign(workers, 0);
  published->share_begin.assign(workers + 1, 0);

  std::vector<TokenShare> tokens;
  find_token_shares(plan, demand.counts, tile_tokens, placement, tokens);
  const std::vector<std::int64_t> first = first_tokens(plan, tokens, placement);

  for (const TileShare& share : plan.assignment) published->share_begin[share.worker + 1] += 1;
  for (int w = 0; w < workers; ++w) published->share_begin[w + 1] += published->share_begin[w];
  std::vector<std::size_t> at(published->share_begin.begin(), published->share_begin.end() - 1);
  published->shares.resize(plan.assignment.size());
  for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
    const TileShare& share = plan.assignment[i];
    published->shares[at[share.worker]++] = {share.expert, share.tiles, tokens[i].tokens, first[i]};
    published->tiles[share.worker] += share.tiles;
    published->worker_tokens[share.worker] += tokens[i].tokens;
  }
  published->plan = std::move(plan);
  return published;
}

}  // namespace afore::pipeline
