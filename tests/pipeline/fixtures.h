#pragma once
// Small shapes and streams, worked out by hand, for the tests of this room.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pipeline/messages.h"
#include "util/error.h"

namespace afore::pipeline {

inline ClusterSpec cluster(int attention, int ffn, int redundant, int tile_tokens, int microbatches) {
  return {.attention_workers = attention,
          .ffn_workers = ffn,
          .redundant_slots = redundant,
          .tile_tokens = tile_tokens,
          .microbatches = microbatches};
}

inline ModelSpec model(int experts) {
  ModelSpec m;
  m.experts = experts;
  m.top_k = 1;
  return m;
}

// FFN time of a worker: 10 + 100 x tiles + 5 x experts; a copy takes 250.
inline LayerCost small_cost(std::int64_t tile_tokens = 64) {
  return {.c0_ns = 10, .c1_ns = 100, .c2_ns = 5, .tile_tokens = tile_tokens, .expert_bytes = 1000, .copy_ns = 250};
}

inline Demand demand(Target target, std::vector<std::int64_t> counts, Phase phase = Phase::decode) {
  Demand d;
  d.target = target;
  d.phase = phase;
  d.counts = std::move(counts);
  for (const std::int64_t count : d.counts) d.tokens += count;
  return d;
}

// A plan as the FFN workers see it: copies and shares as given, one token per tile.
inline PlanPtr published(std::int64_t serial, Target target, std::vector<Copy> copies, std::vector<TileShare> shares,
                         int workers) {
  auto result = std::make_shared<PublishedPlan>();
  result->serial = serial;
  result->plan.seq = serial;
  result->plan.target = target;
  result->plan.copies = std::move(copies);
  result->plan.assignment = shares;
  result->tiles.assign(workers, 0);
  result->worker_tokens.assign(workers, 0);
  result->share_begin.push_back(0);
  std::vector<std::int64_t> next(64, 0);  // token by expert, workers in rank order
  for (int w = 0; w < workers; ++w) {
    for (const TileShare& share : shares) {
      if (share.worker != w) continue;
      result->shares.push_back({share.expert, share.tiles, share.tiles, next[share.expert]});
      next[share.expert] += share.tiles;
      result->tiles[w] += share.tiles;
      result->worker_tokens[w] += share.tiles;
    }
    result->share_begin.push_back(result->shares.size());
  }
  return result;
}

inline std::string name(const Target& t) {
  return std::to_string(t.step) + ":" + std::to_string(t.layer) + ":" + std::to_string(t.microbatch);
}

// What the Error of `act` says; fails when its kind is another.
template <class Act>
std::string error_of(Act&& act, ErrorKind kind) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    return error.what();
  }
  return "no error";
}

using Log = std::vector<std::string>;

// The same numbers everywhere.
struct Draw {
  std::uint64_t state;
  std::int64_t operator()(std::int64_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::int64_t>((state >> 33) % static_cast<std::uint64_t>(below));
  }
};

}  // namespace afore::pipeline
