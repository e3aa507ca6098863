#include "advice/provisioning.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace afore::advice {
namespace {

double tokens_at(const Coefficients& c, double attention_workers) {
  return attention_workers * static_cast<double>(c.batch);
}

// Where AB / ((A + F) (alpha A B + beta)) is largest: of a stage that grows with A.
double best_against(const Coefficients& c, double alpha, double beta) {
  const double b = alpha * static_cast<double>(c.batch);
  return b > 0 ? std::sqrt(static_cast<double>(c.ffn_workers) * beta / b) : 0;
}

double crossing(double target_ns, double beta, double alpha_batch) {
  return alpha_batch > 0 ? (target_ns - beta) / alpha_batch : 0;
}

}  // namespace

Coefficients coefficients(const LayerCost& cost, const PipelineCost& pipeline, const Sizes& sizes) {
  Coefficients c;
  c.batch = sizes.batch;
  c.ffn_workers = sizes.ffn_workers;
  const double workers = static_cast<double>(sizes.ffn_workers), top_k = static_cast<double>(sizes.top_k);
  const double batch = static_cast<double>(sizes.batch);
  const double per_worker = top_k * sizes.imbalance / workers;  // assignments of the busiest, for a token
  c.attention_ns = static_cast<double>(pipeline.attention_ns(sizes.batch, sizes.batch * sizes.context_tokens));
  const double c1 = static_cast<double>(cost.c1_ns), c2 = static_cast<double>(cost.c2_ns);
  c.alpha_ffn_ns = c1 * per_worker / static_cast<double>(cost.tile_tokens);
  const double held = std::ceil(static_cast<double>(sizes.experts) / workers);
  c.beta_ffn_ns = static_cast<double>(cost.c0_ns) + held * (c2 + c1 / 2);
  const double row_ns = pipeline.link_ns_per_byte * static_cast<double>(pipeline.activation_bytes);
  const double latency = static_cast<double>(pipeline.link_latency_ns);
  c.alpha_link_ns = row_ns * per_worker;
  c.beta_link_ns = latency;
  c.a2f_floor_ns = latency + row_ns * batch * std::min(top_k, workers);
  c.f2a_floor_ns = latency + row_ns * batch * top_k;
  c.control_ns = 2 * static_cast<double>(pipeline.control_latency_ns) + static_cast<double>(pipeline.scheduler_ns);
  return c;
}

double Stages::largest_ns() const { return std::max({attention_ns, a2f_ns, ffn_ns, f2a_ns}); }
double Stages::link_ns() const { return std::max(a2f_ns, f2a_ns); }
double Stages::round_trip_ns() const { return attention_ns + std::max(a2f_ns, control_ns) + ffn_ns + f2a_ns; }

Stages stages(const Coefficients& c, std::int64_t attention_workers) {
  const double tokens = tokens_at(c, static_cast<double>(attention_workers));
  const double link_ns = c.alpha_link_ns * tokens + c.beta_link_ns;
  Stages s;
  s.attention_ns = c.attention_ns;
  s.ffn_ns = c.alpha_ffn_ns * tokens + c.beta_ffn_ns;
  s.a2f_ns = std::max(link_ns, c.a2f_floor_ns);
  s.f2a_ns = std::max(link_ns, c.f2a_floor_ns);
  s.control_ns = c.control_ns;
  return s;
}

double provisioned_workers(const Coefficients& c) {
  const double alpha_batch = c.alpha_ffn_ns * static_cast<double>(c.batch);
  return std::max({crossing(c.attention_ns, c.beta_ffn_ns, alpha_batch),
                   crossing(std::max(c.a2f_floor_ns, c.f2a_floor_ns), c.beta_ffn_ns, alpha_batch),
                   best_against(c, c.alpha_ffn_ns, c.beta_ffn_ns), 0.0});
}

double tokens_per_worker_s(const Coefficients& c, std::int64_t attention_workers, std::int64_t layers) {
  const double workers = static_cast<double>(attention_workers + c.ffn_workers);
  const double tau_ns = stages(c, attention_workers).largest_ns();
  return tokens_at(c, static_cast<double>(attention_workers)) / (workers * tau_ns * static_cast<double>(layers)) * 1e9;
}

std::int64_t best_workers(const Coefficients& c, std::int64_t most) {
  const double batch = static_cast<double>(c.batch);
  std::vector<double> candidates = {1,
                                    static_cast<double>(most),
                                    crossing(c.attention_ns, c.beta_ffn_ns, c.alpha_ffn_ns * batch),
                                    crossing(c.attention_ns, c.beta_link_ns, c.alpha_link_ns * batch),
                                    best_against(c, c.alpha_ffn_ns, c.beta_ffn_ns),
                                    best_against(c, c.alpha_link_ns, c.beta_link_ns)};
  for (const double floor_ns : {c.a2f_floor_ns, c.f2a_floor_ns}) {
    candidates.push_back(crossing(floor_ns, c.beta_ffn_ns, c.alpha_ffn_ns * batch));
    candidates.push_back(crossing(floor_ns, c.beta_link_ns, c.alpha_link_ns * batch));
  }
  if (c.alpha_link_ns != c.alpha_ffn_ns)
    candidates.push_back((c.beta_ffn_ns - c.beta_link_ns) / ((c.alpha_link_ns - c.alpha_ffn_ns) * batch));
  std::int64_t best = 1;
  double best_rate = 0;
  std::sort(candidates.begin(), candidates.end());
  for (const double candidate : candidates) {
    const auto below = static_cast<std::int64_t>(std::clamp(std::floor(candidate), 1.0, static_cast<double>(most)));
    for (const std::int64_t workers : {below, std::min(below + 1, most)}) {
      const double rate = tokens_per_worker_s(c, workers, 1);
      if (rate <= best_rate) continue;
      best = workers;
      best_rate = rate;
    }
  }
  return best;
}

double microbatches(const Stages& s) {
  const double work_ns = std::max({s.attention_ns, s.ffn_ns, 1.0});
  return 2 * (1 + s.link_ns() / work_ns);
}

double cycle_ns(const Stages& s, std::int64_t m) {
  return std::max(static_cast<double>(m) * s.largest_ns(), s.round_trip_ns());
}

double pipe_ns(const Stages& s, std::int64_t m, std::int64_t layers) {
  const double others = s.attention_ns + s.a2f_ns + s.ffn_ns + s.f2a_ns - s.largest_ns();
  return static_cast<double>(m) * s.largest_ns() + others / static_cast<double>(layers);
}

}  // namespace afore::advice
