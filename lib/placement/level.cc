#include "placement/level.h"

#include <algorithm>

namespace afore::placement {
namespace {

constexpr int kMoves = 64;  // a target needs few; this ends what would go on for little

std::int64_t load_of(const SplitProblem& problem, int worker, std::int64_t tiles, std::int64_t activated) {
  const std::int64_t load = load_by(problem.rule, problem.per_tile * tiles, problem.per_expert * activated);
  if (problem.traits.empty()) return load;
  return ceil_div(load * problem.traits[worker].slowdown_permille, 1000);
}

}  // namespace

void WorkerState::reset(const SplitProblem& problem, std::span<const std::int64_t> parts) {
  problem_ = &problem;
  const ReplicaTable& replicas = problem.replicas;
  tiles_.assign(replicas.workers(), 0);
  activated_.assign(replicas.workers(), 0);
  load_.resize(replicas.workers());
  for (int id = 0; id < replicas.replicas(); ++id) {
    if (parts[id] == 0) continue;
    tiles_[replicas.worker(id)] += parts[id];
    activated_[replicas.worker(id)] += 1;
  }
  for (int w = 0; w < replicas.workers(); ++w) load_[w] = load_of(problem, w, tiles_[w], activated_[w]);
}

std::int64_t WorkerState::load_with(int worker, std::int64_t tiles, std::int64_t activated) const {
  return load_of(*problem_, worker, tiles_[worker] + tiles, activated_[worker] + activated);
}

void WorkerState::move(int worker, std::int64_t tiles, std::int64_t activated) {
  tiles_[worker] += tiles;
  activated_[worker] += activated;
  load_[worker] = load_of(*problem_, worker, tiles_[worker], activated_[worker]);
}

void Leveler::shift(const ReplicaTable& replicas, int from, int to, std::vector<std::int64_t>& parts) {
  state_.move(replicas.worker(from), -parts[from], -1);
  state_.move(replicas.worker(to), parts[from], parts[to] > 0 ? 0 : 1);
  parts[to] += parts[from];
  parts[from] = 0;
}

bool Leveler::best_move(const SplitProblem& problem, std::span<const std::int64_t> backlog, std::int64_t cap,
                        std::span<const std::int64_t> parts, int top, Step& best) const {
  const ReplicaTable& replicas = problem.replicas;
  for (const int from : replicas.of_worker(top)) {
    if (parts[from] == 0) continue;
    const int expert = replicas.expert(from);
    if (replicas.count(expert) < 2) continue;
    const std::int64_t left = backlog[top] + state_.load_with(top, -parts[from], -1);
    if (left >= best.score) continue;
    for (int to = replicas.first(expert); to < replicas.first(expert + 1); ++to) {
      if (to == from) continue;
      const int worker = replicas.worker(to);
      const std::int64_t load = state_.load_with(worker, parts[from], parts[to] > 0 ? 0 : 1);
      const std::int64_t score = std::max(left, backlog[worker] + load);
      if (load <= cap && score < best.score) best = {score, from, to, -1, -1};
    }
  }
  return best.from >= 0;
}

// All of one expert against all of another costs no activation.
bool Leveler::best_exchange(const SplitProblem& problem, std::span<const std::int64_t> backlog, std::int64_t cap,
                            std::span<const std::int64_t> parts, int top, Step& best) const {
  const ReplicaTable& replicas = problem.replicas;
  for (const int from : replicas.of_worker(top)) {
    if (parts[from] == 0) continue;
    const int expert = replicas.expert(from);
    for (int to = replicas.first(expert); to < replicas.first(expert + 1); ++to) {
      const int partner = replicas.worker(to);
      if (to == from) continue;
      const int arrives = parts[to] > 0 ? 0 : 1;
      for (const int back : replicas.of_worker(partner)) {
        if (parts[back] == 0 || back == to || replicas.count(replicas.expert(back)) < 2) continue;
        const int other = replicas.expert(back);
        for (int home = replicas.first(other); home < replicas.first(other + 1); ++home) {
          if (replicas.worker(home) != top) continue;
          const std::int64_t here = state_.load_with(top, parts[back] - parts[from], parts[home] > 0 ? -1 : 0);
          const std::int64_t there = state_.load_with(partner, parts[from] - parts[back], arrives - 1);
          const std::int64_t score = std::max(backlog[top] + here, backlog[partner] + there);
          if (here <= cap && there <= cap && score < best.score) best = {score, from, to, back, home};
        }
      }
    }
  }
  return best.from >= 0;
}

std::int64_t Leveler::level(const SplitProblem& problem, std::span<const std::int64_t> backlog, std::int64_t cap,
                            std::vector<std::int64_t>& parts) {
  state_.reset(problem, parts);
  const int workers = problem.replicas.workers();
  for (int moved = 0; moved < kMoves; ++moved) {
    int top = -1;
    for (int w = 0; w < workers; ++w)
      if (state_.load(w) > 0 && (top < 0 || backlog[w] + state_.load(w) > backlog[top] + state_.load(top))) top = w;
    if (top < 0) break;
    Step step;
    step.score = backlog[top] + state_.load(top);
    if (!best_move(problem, backlog, cap, parts, top, step) && !best_exchange(problem, backlog, cap, parts, top, step))
      break;
    shift(problem.replicas, step.from, step.to, parts);
    if (step.back >= 0) shift(problem.replicas, step.back, step.back_to, parts);
  }
  std::int64_t latest = 0;
  for (int w = 0; w < workers; ++w)
    if (state_.load(w) > 0) latest = std::max(latest, backlog[w] + state_.load(w));
  return latest;
}

void Leveler::go_home(const SplitProblem& problem, std::int64_t cap, std::vector<std::int64_t>& parts) {
  state_.reset(problem, parts);
  const ReplicaTable& replicas = problem.replicas;
  for (const int expert : replicas.replicated()) {
    const int home = replicas.first(expert);
    for (int id = home + 1; id < replicas.first(expert + 1); ++id)
      if (parts[id] > 0 && state_.load_with(replicas.worker(home), parts[id], parts[home] > 0 ? 0 : 1) <= cap)
        shift(replicas, id, home, parts);
  }
}

}  // namespace afore::placement
