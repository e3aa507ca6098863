#include "http/metric_names.h"

#include <map>

#include "prometheus/family.h"

namespace afore::http {
namespace {

using prometheus::Histogram;
using prometheus::Labels;

// vLLM's buckets, in seconds: panels and alerts made for it show what they should.
const Histogram::BucketBoundaries kFirstToken = {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5,  .75,
                                                 1,    2.5,  5,   7.5, 10,  20,  40,  80, 160, 640, 2560};
const Histogram::BucketBoundaries kPerToken = {.01, .025, .05, .075, .1,  .15, .2, .3, .4, .5,
                                               .75, 1,    2.5, 5,    7.5, 10,  20, 40, 80};
const Histogram::BucketBoundaries kRequest = {.3, .5, .8, 1,  1.5, 2,   2.5, 5,   10,   15,  20,
                                              30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
const Histogram::BucketBoundaries kTokens = {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
const Histogram::BucketBoundaries kPlan = {1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, .001, .002, .005, .01, .02, .05, .1, 1};

// Gauges that have no value at first.
const std::map<std::string, std::string> kOptional = {
    {"afore_eplb_balancedness",
     "Mean over max of the FFN workers' assignments, of each layer's last target; mean over layers."},
    {"afore_eplb_balancedness_min", "The same of the least balanced layer."},
    {"afore_imbalance", "Max over mean of the FFN workers' loads, of each layer's last target; mean over layers."},
    {"afore_imbalance_mean", "Max over mean of the FFN workers' loads; mean over all targets so far."},
    {"afore_load_over_bound", "Largest tile load over its lower bound, of each layer's last target; mean over layers."},
    {"afore_plan_age_seconds", "Time since the last plan was told of."},
    {"afore_ffn_queue_depth", "Targets that an FFN worker has a plan for and has not computed."},
};

}  // namespace

prometheus::Counter& MetricNames::counter(const std::string& name, const std::string& help, const Labels& labels) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry).Add(labels);
}

prometheus::Gauge& MetricNames::gauge(const std::string& name, const std::string& help, const Labels& labels) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry).Add(labels);
}

Histogram& MetricNames::histogram(const std::string& name, const std::string& help, const Buckets& buckets,
                                  const Labels& labels) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, buckets);
}

prometheus::Counter& MetricNames::ended(const std::string& finished_reason) {
  Labels labels = model_;
  labels["finished_reason"] = finished_reason;
  return counter("vllm:request_success_total", "Requests that ended, rejected ones aside.", labels);
}

prometheus::Counter& MetricNames::plans(const std::string& policy) {
  prometheus::Counter*& known = plans_[policy];
  if (known == nullptr)
    known = &counter("afore_plans_total", "Plans, one for each layer of each microbatch's step.", {{"policy", policy}});
  return *known;
}

prometheus::Gauge& MetricNames::optional(const std::string& name, const Labels& labels) {
  return gauge(name, kOptional.at(name), labels);
}

MetricNames::MetricNames(const std::string& model_name)
    : model_({{"engine", "0"}, {"model_name", model_name}}),
      num_requests_running(gauge("vllm:num_requests_running", "Requests that run.", model_)),
      num_requests_waiting(gauge("vllm:num_requests_waiting", "Requests that wait for their first step.", model_)),
      kv_cache_usage(gauge("vllm:kv_cache_usage_perc", "Reserved part of the KV cache; 1 is all of it.", model_)),
      prompt_tokens(counter("vllm:prompt_tokens_total", "Prompt tokens computed.", model_)),
      generation_tokens(counter("vllm:generation_tokens_total", "Tokens sampled.", model_)),
      stopped(ended("stop")),
      reached_length(ended("length")),
      aborted(ended("abort")),
      time_to_first_token(histogram("vllm:time_to_first_token_seconds",
                                    "From a request's arrival until its first token is sampled.", kFirstToken, model_)),
      inter_token_latency(histogram("vllm:inter_token_latency_seconds",
                                    "Between two tokens of a request, each gap by itself.", kPerToken, model_)),
      time_per_output_token(histogram("vllm:request_time_per_output_token_seconds",
                                      "Mean time between the tokens of a complete request of two or more.", kPerToken,
                                      model_)),
      e2e_latency(histogram("vllm:e2e_request_latency_seconds", "From arrival to the last token, of complete requests.",
                            kRequest, model_)),
      queue_time(histogram("vllm:request_queue_time_seconds", "From a request's arrival until its first step begins.",
                           kRequest, model_)),
      prefill_time(histogram("vllm:request_prefill_time_seconds",
                             "From the start of the first step to the first token, of complete requests.", kRequest,
                             model_)),
      decode_time(histogram("vllm:request_decode_time_seconds",
                            "From the first token to the last, of complete requests.", kRequest, model_)),
      iteration_tokens(
          histogram("vllm:iteration_tokens_total", "Tokens computed in a step of a microbatch.", kTokens, model_)),
      injected(counter("afore_requests_injected_total",
                       "Requests offered to the model: completed, queued, running, rejected, timed out or cancelled.")),
      completed(counter("afore_requests_completed_total", "Requests that have their last token.")),
      rejected(counter("afore_requests_rejected_total", "Requests refused before their first step.")),
      timed_out(counter("afore_requests_timed_out_total", "Requests given up, not complete in time.")),
      cancelled(counter("afore_requests_cancelled_total", "Requests whose clients went away.")),
      queued(gauge("afore_requests_queued", "Requests that wait for their first step.")),
      running(gauge("afore_requests_running", "Requests that run.")),
      expert_copies(counter("afore_expert_copies_total", "Copies of experts between FFN workers that plans list.")),
      migration_bytes(counter("afore_migration_bytes_total", "Bytes of the experts that plans copy.")),
      exposed_time(counter("afore_exposed_seconds_total",
                           "Time by which copies ended after their target could have started; slowest worker.")),
      exposed_targets(counter("afore_exposed_targets_total", "Targets that waited for a copy.")),
      migration_stalls(
          counter("afore_migration_stalls_total", "Targets a copy of which waited for a slot that had work pending.")),
      plan_time(histogram("afore_plan_seconds", "Time that making a plan took.", kPlan)),
      frozen(gauge("afore_frozen", "1 while no expert may move.")),
      ready(gauge("afore_ready", "1 while requests should be sent here.")) {}

}  // namespace afore::http
