#pragma once
// Every metric of the endpoint, by name. For metrics.cc alone.
#include <map>
#include <string>

#include "prometheus/counter.h"
#include "prometheus/gauge.h"
#include "prometheus/histogram.h"
#include "prometheus/registry.h"

namespace afore::http {

class MetricNames {
 public:
  explicit MetricNames(const std::string& model_name);

  // Made when they first have a value: there is none of what was never measured.
  prometheus::Counter& plans(const std::string& policy);
  prometheus::Gauge& optional(const std::string& name, const prometheus::Labels& labels = {});

  prometheus::Registry registry;

 private:
  using Buckets = prometheus::Histogram::BucketBoundaries;
  const prometheus::Labels model_;
  std::map<std::string, prometheus::Counter*> plans_;  // by policy
  prometheus::Counter& counter(const std::string& name, const std::string& help, const prometheus::Labels& labels = {});
  prometheus::Gauge& gauge(const std::string& name, const std::string& help, const prometheus::Labels& labels = {});
  prometheus::Histogram& histogram(const std::string& name, const std::string& help, const Buckets& buckets,
                                   const prometheus::Labels& labels = {});
  prometheus::Counter& ended(const std::string& finished_reason);

 public:
  // vLLM's
  prometheus::Gauge &num_requests_running, &num_requests_waiting, &kv_cache_usage;
  prometheus::Counter &prompt_tokens, &generation_tokens;
  prometheus::Counter &stopped, &reached_length, &aborted;
  prometheus::Histogram &time_to_first_token, &inter_token_latency, &time_per_output_token;
  prometheus::Histogram &e2e_latency, &queue_time, &prefill_time, &decode_time;
  prometheus::Histogram& iteration_tokens;
  // Ours
  prometheus::Counter &injected, &completed, &rejected, &timed_out, &cancelled;
  prometheus::Gauge &queued, &running;
  prometheus::Counter &expert_copies, &migration_bytes, &exposed_time, &exposed_targets, &migration_stalls;
  prometheus::Histogram& plan_time;
  prometheus::Gauge &frozen, &ready;
};

}  // namespace afore::http
