#pragma once
// Requests and what they are served with, by hand or by a seed.
#include "harness.h"
#include "host/closed_loop.h"
#include "host/finite_requests.h"

namespace afore::host {

inline std::shared_ptr<const SequenceRecord> make_sequence(std::int64_t tokens, std::vector<std::uint8_t> experts) {
  auto sequence = std::make_shared<SequenceRecord>();
  sequence->id.assign(1, 's');
  sequence->tokens = tokens;
  sequence->experts = std::move(experts);
  return sequence;
}

inline IncomingRequest request(std::string id, Nanos arrival, std::int64_t prompt, std::int64_t output,
                               std::shared_ptr<const SequenceRecord> sequence, std::int64_t offset = 0) {
  IncomingRequest incoming;
  incoming.record = {std::move(id), arrival, prompt, output, sequence->id, offset};
  incoming.sequence = std::move(sequence);
  return incoming;
}

// One after the other; they outlive the source.
inline FiniteRequests feed(const std::vector<IncomingRequest>& requests) {
  return FiniteRequests([&requests, next = std::size_t{0}](IncomingRequest& request) mutable {
    if (next == requests.size()) return false;
    request = requests[next++];
    return true;
  });
}

struct Load {
  ClosedLoopOptions options;
  std::vector<IncomingRequest> requests;
};

inline Load random_load(Draw& draw) {
  Load load;
  const Shape s = random_shape(draw);
  load.options.sim = s.sim;
  load.options.planner = s.planner;
  const char* const policies[] = {"static", "eplb", "afore", "ideal"};
  load.options.planner.policy = policies[draw(4)];
  load.options.planner.eplb.interval_steps = 5;
  const std::int64_t layers = 1 + draw(3);
  for (int layer = 0; layer < layers; ++layer) load.options.sim.model.moe_layers.push_back(layer + 1);
  batch::ServingOptions& serving = load.options.serving;
  serving.microbatches = static_cast<int>(s.sim.cluster.microbatches);
  serving.attention_workers = static_cast<int>(s.sim.cluster.attention_workers);
  serving.max_num_seqs = 1 + draw(8);
  serving.max_num_batched_tokens = serving.max_num_seqs + draw(40);
  serving.kv_budget_tokens = 32 + draw(200);
  serving.max_queue = 1 + draw(10);
  if (draw(2)) serving.max_queue_ns = draw(20'000'000);
  if (draw(2)) serving.timeout_ns = 1 + draw(60'000'000);
  if (draw(3) == 0) load.options.end_ns = 1 + draw(40'000'000);
  std::vector<std::shared_ptr<const SequenceRecord>> sequences;
  for (int i = 0; i < 3; ++i) {
    const std::int64_t tokens = 1 + draw(12);
    std::vector<std::uint8_t> experts;
    for (std::int64_t row = 0; row < tokens * layers; ++row) {
      const std::int64_t first = draw(s.sim.model.experts);
      for (std::int64_t k = 0; k < s.sim.model.top_k; ++k)
        experts.push_back(static_cast<std::uint8_t>((first + k) % s.sim.model.experts));
    }
    sequences.push_back(make_sequence(tokens, std::move(experts)));
  }
  Nanos at = 0;
  for (std::int64_t n = draw(30), i = 0; i < n; ++i) {
    at += draw(4) ? draw(2'000'000) : 0;
    const auto& sequence = sequences[draw(3)];
    load.requests.push_back(
        request(std::to_string(i), at, 1 + draw(80), draw(5) ? 1 + draw(20) : 1, sequence, draw(sequence->tokens)));
  }
  return load;
}

}  // namespace afore::host
