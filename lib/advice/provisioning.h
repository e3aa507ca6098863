#pragma once
// How many attention workers feed a group of FFN workers, and how many microbatches: published formulas on this
// project's cost model. Times are of one layer and one microbatch, in ns; every attention worker decodes `batch`
// sequences of it, A of them feed the group, so that the group sees A * batch tokens.
//
// Sources. All are known from summaries and from code that implements them, not from the papers' own text:
//   [1] analytical provisioning of rA-1F, arXiv 2601.21351: t_F and t_C linear in the tokens, r* and the throughput
//       r B / ((r + 1) tau). An instance there is one device; here the FFN instance is a group of F workers, so that
//       r + 1 becomes A + F and sqrt(beta_F / (alpha_F B)) becomes sqrt(F beta_F / (alpha_F B)). Contexts are equal
//       here, so that its spread of attention times, sigma, is 0.
//   [2] MegaScale-Infer, arXiv 2504.02263: m T_f >= 2 (T_f + T_c), hence m >= 2 (1 + T_c / T_f).
//   [3] StepMesh (github.com/stepfun-ai/StepMesh) and Step-3, arXiv 2507.19427: A2F + F2A <= A with three stages.
//   [4] Revealing the challenges of AFD, arXiv 2602.09721: with three batches 2 t_a >= t_f + t_c, 2 t_f >= t_a + t_c.
//   [5] How far, arXiv 2605.28302: t_pipe = M s_max + sum of the other stages / L.
#include <cstdint>

#include "core/cost_model.h"

namespace afore::advice {

struct Coefficients {
  double attention_ns = 0;                   // t_A; does not depend on A
  double alpha_ffn_ns = 0, beta_ffn_ns = 0;  // t_F = alpha * tokens + beta, tokens = A * batch
  double alpha_link_ns = 0, beta_link_ns = 0;
  double a2f_floor_ns = 0, f2a_floor_ns = 0;  // an attention worker's own port: t_C is no less, whatever A
  double control_ns = 0;                      // demand to the scheduler, its time, and the plan to the workers
  std::int64_t batch = 1, ffn_workers = 1;
};

struct Sizes {
  std::int64_t experts = 1, top_k = 1, ffn_workers = 1, batch = 1;
  std::int64_t context_tokens = 0;  // cached, of each sequence
  double imbalance = 1;             // the busiest worker's assignments over their mean
};

// t_A = attention_ns(batch, batch * context); alpha_F = c1 * top_k * imbalance / (tile_tokens * F); beta_F = c0 +
// ceil(E / F) * (c2 + c1 / 2): every expert of a worker is activated, and its last tile is half full. Links: alpha_C =
// ns per byte * row * top_k * imbalance / F, beta_C the latency; floors batch * min(top_k, F) and batch * top_k rows.
Coefficients coefficients(const LayerCost& cost, const PipelineCost& pipeline, const Sizes& sizes);

struct Stages {
  double attention_ns = 0, a2f_ns = 0, ffn_ns = 0, f2a_ns = 0;
  double control_ns = 0;  // beside a2f
  double largest_ns() const;
  double link_ns() const;        // the slower way
  double round_trip_ns() const;  // attention + max(a2f, control) + ffn + f2a
};
Stages stages(const Coefficients& c, std::int64_t attention_workers);

// [1]'s r*: the largest of (t_A - beta_F) / (alpha_F B), (t_C - beta_F) / (alpha_F B) with t_C of an attention worker's
// own port, and sqrt(F beta_F / (alpha_F B)). A real number of attention workers; at least 0.
double provisioned_workers(const Coefficients& c);
// Tokens per second and worker: A B / ((A + F) tau) / layers, tau the largest stage.
double tokens_per_worker_s(const Coefficients& c, std::int64_t attention_workers, std::int64_t layers);
// [1]'s second version: the integer in [1, most] of largest tokens_per_worker_s, among those next to t_F = t_A,
// t_C = t_A, t_F = t_C, sqrt(F beta / (alpha B)) of both, and the ends; the smallest of equals.
std::int64_t best_workers(const Coefficients& c, std::int64_t most);

// [2]: 2 (1 + T_c / T_f), T_f the larger of attention and FFN time, T_c one way. The answer is the next integer.
double microbatches(const Stages& s);
// Time of one layer of all `m` microbatches when each waits for itself alone: max(m * largest, round trip).
double cycle_ns(const Stages& s, std::int64_t m);
// [5]: of one layer, for a step of `layers`.
double pipe_ns(const Stages& s, std::int64_t m, std::int64_t layers);

}  // namespace afore::advice
