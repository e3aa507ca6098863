#pragma once
// Small planned streams, worked out by hand, that a checker must accept; tests change one thing in them.
#include <string>
#include <vector>

#include "core/records.h"
#include "util/error.h"
#include "verify/verify.h"

namespace afore::verify {

using Stream = std::vector<Record>;

// The message of the first violation, "" when there is none.
inline std::string verdict(const Stream& stream) {
  Verifier verifier;
  try {
    for (const Record& record : stream) verifier.feed(record);
    verifier.finish();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline Header header(const std::string& policy, Objective objective, int experts, int workers, int redundant) {
  Header h;
  h.model.experts = experts;
  h.model.top_k = 1;
  h.model.moe_layers = {3, 5};
  h.cluster = {.attention_workers = 1,
               .ffn_workers = workers,
               .redundant_slots = redundant,
               .tile_tokens = 64,
               .microbatches = 2};
  PlannerSpec planner;
  planner.policy = policy;
  planner.demand_source = "prefetch";
  planner.objective = objective;
  planner.copy_budget = 1;
  planner.cost = {.c0_ns = 10, .c1_ns = 100, .c2_ns = 5, .tile_tokens = 64, .expert_bytes = 1, .copy_ns = 250};
  h.planner = planner;
  return h;
}

inline Demand demand(Target target, std::vector<std::int64_t> counts) {
  Demand d;
  d.target = target;
  d.counts = std::move(counts);
  for (const std::int64_t count : d.counts) d.tokens += count;
  return d;
}

inline Plan plan(std::int64_t seq, Target target, const Header& h) {
  Plan p;
  p.seq = seq;
  p.target = target;
  p.policy = h.planner->policy;
  p.demand_source = h.planner->demand_source;
  p.objective = h.planner->objective;
  p.window_ns = 100;
  p.window_source = "flag";
  return p;
}

// Seven tiles of one expert and one of another on two workers: a copy halves the load (7 -> 4). The second
// microbatch keeps the placement. Objective tiles or time; layer 3. `seq`: of the first plan.
inline Stream copy_stream(Objective objective, std::int64_t seq = 0) {
  const Header h = header("afore", objective, 2, 2, 1);  // slots: 0 - | 1 -
  const Target t0{17, 3, 0}, t1{17, 3, 1};
  Plan p0 = plan(seq, t0, h);
  p0.copies = {{0, 0, 1, 1}};
  p0.assignment = {{0, 0, 4}, {0, 1, 3}, {1, 1, 1}};
  p0.tile_load = {4, 4};
  p0.max_tile_load_before = 7;
  p0.max_tile_load = 4;
  p0.lower_bound = 4;
  p0.ffn_ns_before = 715;  // 10 + 7*100 + 5
  p0.ffn_ns = 420;         // 10 + 4*100 + 2*5
  p0.ffn_bound_ns = 415;   // 10 + (800 + 10) / 2
  p0.certified = objective == Objective::tiles;
  p0.migration_ns = 250;
  p0.exposed_ns = 150;
  p0.gain_ns = objective == Objective::tiles ? 150 : 145;
  Plan p1 = p0;
  p1.seq = seq + 1;
  p1.target = t1;
  p1.copies.clear();
  p1.max_tile_load_before = 4;
  p1.ffn_ns_before = 420;
  p1.migration_ns = p1.exposed_ns = p1.gain_ns = 0;
  Observed o0;
  o0.target = t0;
  o0.seq = seq;
  o0.ffn_ns = 420;
  o0.migration_ns = 300;
  o0.window_ns = 120;
  o0.exposed_ns = 180;
  PlacementRecord map{3, 2, {0, -1, 1, 0}};
  return {h, demand(t0, {448, 64}), p0, o0, demand(t1, {440, 60}), p1, map};
}

inline Stream static_stream() {
  const Header h = header("static", Objective::time, 2, 2, 1);
  const Target t{0, 5, 0};
  Plan p = plan(0, t, h);
  p.assignment = {{0, 0, 2}, {1, 1, 2}};
  p.tile_load = {2, 2};
  p.max_tile_load_before = p.max_tile_load = p.lower_bound = 2;
  p.ffn_ns_before = p.ffn_ns = p.ffn_bound_ns = 215;
  p.certified = true;
  return {h, Batch{}, demand(t, {128, 65}), p};
}

// Nine tiles of an expert on workers 0 and 2, one on worker 1: five is the least, and {0, 2} proves it (no copies).
inline Stream cut_stream() {
  const Header h = header("static", Objective::tiles, 2, 3, 1);  // homes 0 and 1
  const Target t{0, 3, 0};
  Plan p = plan(0, t, h);
  p.assignment = {{0, 0, 5}, {0, 2, 4}, {1, 1, 1}};
  p.tile_load = {5, 1, 4};
  p.max_tile_load_before = p.max_tile_load = p.lower_bound = 5;
  p.ffn_ns_before = p.ffn_ns = 515;
  p.ffn_bound_ns = 515;  // 9 tiles and two activations on two workers: 465 without whole tiles, 515 with them
  p.cut = {0, 2};
  p.certified = true;
  return {h, PlacementRecord{3, 2, {0, -1, 1, -1, 0, -1}}, demand(t, {576, 64}), p};
}

// Two workers without a spare slot swap their experts in the background, through worker 1's staging buffer.
inline Stream rehoming_stream() {
  const Header h = header("eplb", Objective::time, 2, 2, 0);
  Stream stream{h};
  const std::vector<std::vector<Copy>> copies = {{{0, 0, 1, -1}}, {}, {{1, 1, 0, 0}}, {}, {{0, 1, 1, 0}}};
  const std::vector<int> worker_of_0 = {1, 1, 1, 1, 1}, worker_of_1 = {1, 1, 0, 0, 0};
  for (int i = 0; i < 5; ++i) {
    const Target t{i / 2, 3, i % 2};
    Plan p = plan(i, t, h);
    p.rehomes = true;
    p.copies = copies[i];
    if (worker_of_1[i] == 1) {
      p.assignment = {{0, 1, 2}, {1, 1, 1}};
      p.assignment_tokens = {{0, 1, 100}, {1, 1, 50}};
      p.tile_load = {0, 3};
      p.max_tile_load = 3;
      p.ffn_ns = 320;
    } else {
      p.assignment = {{0, 1, 2}, {1, 0, 1}};
      p.assignment_tokens = {{0, 1, 100}, {1, 0, 50}};
      p.tile_load = {1, 2};
      p.max_tile_load = 2;
      p.ffn_ns = 215;
    }
    p.lower_bound = 2;
    p.ffn_bound_ns = 165;
    p.migration_ns = copies[i].empty() ? 0 : 250;
    stream.push_back(demand(t, {100, 50}));
    stream.push_back(p);
  }
  stream.push_back(PlacementRecord{3, 1, {1, 0}});
  return stream;
}

// Every expert everywhere, copies free.
inline Stream virtual_stream() {
  const Header h = header("ideal", Objective::tiles, 2, 2, 0);
  const Target t{0, 3, 0};
  Plan p = plan(0, t, h);
  p.is_virtual = true;
  p.assignment = {{0, 0, 4}, {0, 1, 3}, {1, 1, 1}};
  p.tile_load = {4, 4};
  p.max_tile_load_before = 7;
  p.max_tile_load = p.lower_bound = 4;
  p.ffn_ns_before = 715;
  p.ffn_ns = 420;
  p.ffn_bound_ns = 415;
  p.certified = true;
  p.gain_ns = 300;
  return {h, demand(t, {448, 64}), p};
}

// The shares of a guess, applied to the truth: neither gain nor the load before copies are promises about it.
inline Stream guess_stream() {
  Header h = header("afore", Objective::tiles, 2, 2, 1);
  h.planner->demand_source = "last_step";
  const Target t{1, 3, 0};
  Plan p = plan(7, t, h);
  p.demand_source = "last_step";
  p.copies = {{1, 1, 0, 1}};
  p.assignment = {{0, 0, 1}, {1, 0, 1}};
  p.tile_load = {2, 0};
  p.max_tile_load_before = p.lower_bound = 1;
  p.max_tile_load = 2;
  p.ffn_ns_before = 115;
  p.ffn_ns = 220;
  p.ffn_bound_ns = 115;
  p.migration_ns = 250;
  p.exposed_ns = 150;
  p.gain_ns = 33;
  p.predicted_max_tile_load = 3;
  p.predicted_ffn_ns = 300;
  return {h, demand(t, {64, 64}), p};
}

}  // namespace afore::verify
