#pragma once
// afore-plan ratio: attention workers for a group of FFN workers, and microbatches, by published formulas, each beside
// what the simulator says.
#include <cstdint>
#include <string>
#include <vector>

#include "advice/provisioning.h"
#include "common/options.h"
#include "common/planning.h"

namespace afore::plan {

struct RatioFlags {
  cli::PlanningFlags planning;  // of it: workers, tile_tokens, top_k, model, cost
  std::string input;            // empty = no stream
  std::string recover = "tail";
  std::int64_t batch = 64, context = 4096;
  bool json = false;
};

// The question: a machine, a model, and the shares of its experts.
struct RatioCase {
  cli::Setup setup;  // its model has experts, top_k and moe_layers
  advice::Sizes sizes;
  advice::Coefficients coefficients;
  std::vector<std::vector<double>> shares;  // by layer of setup.model.moe_layers
  bool measured_shares = false;             // of a stream's demand
};

// A cluster of the simulator, and what one step of each microbatch took there.
struct RatioPoint {
  std::int64_t attention_workers = 0, microbatches = 0;
  double predicted_tokens_per_worker_s = 0, simulated_tokens_per_worker_s = 0;
  double predicted_step_ns = 0, pipe_step_ns = 0, simulated_step_ns = 0;
  double simulated_ffn_ns = 0;  // mean over targets
};

// Everything on the primaries, each microbatch of attention_workers * batch tokens; steps after the pipeline filled.
RatioPoint simulate_ratio(const RatioCase& question, std::int64_t attention_workers, std::int64_t microbatches);

struct RatioAnswer {
  double provisioned = 0;         // [1]'s r*, a real number
  std::int64_t most_workers = 1;  // attention workers that are tried at all
  std::int64_t attention_workers = 1, microbatches = 1;
  advice::Stages stages;                             // at that number of attention workers
  std::vector<RatioPoint> workers;                   // neighbours in attention workers, ascending
  std::vector<RatioPoint> batches;                   // neighbours in microbatches, ascending
  RatioPoint three;                                  // with three microbatches, for the conditions of [3] and [4]
  std::int64_t kv_tokens = 0, kv_budget_tokens = 0;  // cached by an attention worker, and what it has room for
};

std::string ratio_text(const RatioCase& question, const RatioAnswer& answer);
std::string ratio_json(const RatioCase& question, const RatioAnswer& answer);  // one line, LF

void add_ratio(cli::Command app);

}  // namespace afore::plan
