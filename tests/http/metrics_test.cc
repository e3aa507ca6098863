#include "http/metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "metrics_page.h"

namespace afore::http {
namespace {

using pipeline::kNoTime;
using pipeline::PlannedTarget;

constexpr Nanos kMs = 1'000'000;
constexpr const char* kModel = R"({engine="0",model_name="tiny"})";

std::string of_model(const std::string& name) { return "vllm:" + name + kModel; }
std::string bucket(const std::string& name, const std::string& le) {
  return "vllm:" + name + R"(_bucket{engine="0",model_name="tiny",le=")" + le + "\"}";
}

class MetricsTest : public testing::Test {
 protected:
  MetricsPage scrape(const Metrics::State& state = {}) { return MetricsPage(metrics.text(state)); }

  void close(const char* finish_reason, const pipeline::RequestTimes& times) {
    Completion completion;
    completion.id = "r";
    completion.finish_reason = finish_reason;
    metrics.on_closed(completion, times);
  }
  // Tokens and tiles by FFN worker.
  void plan(int layer, std::vector<std::int64_t> tokens, std::vector<std::int64_t> tiles = {}, int copies = 0,
            std::int64_t lower_bound = 0) {
    Demand demand;
    demand.target.layer = layer;
    PlannedTarget planned;
    planned.plan.target = demand.target;
    planned.plan.policy = "afore";
    planned.plan.copies.resize(static_cast<std::size_t>(copies));
    planned.plan.max_tile_load = tiles.empty() ? 0 : *std::max_element(tiles.begin(), tiles.end());
    planned.plan.tile_load = std::move(tiles);
    planned.plan.lower_bound = lower_bound;
    planned.worker_tokens = std::move(tokens);
    planned.plan_ns = 300'000;
    metrics.on_planned(demand, planned);
  }
  // Something of everything.
  void fill() {
    metrics.on_admitted("r", 20 * kMs);
    metrics.on_step({40, 3, 4});
    metrics.on_token("r", true, 50 * kMs);
    metrics.on_token("r", false, 30 * kMs);
    const std::int64_t used[] = {3, 1};
    metrics.on_load({1, 2, used, 8});
    close("stop", {0, 20 * kMs, 50 * kMs, 110 * kMs, 40, 3});
    plan(1, {30, 10}, {3, 1}, 2, 2);
    Observed observed;
    observed.exposed_ns = 2 * kMs;
    observed.slot_wait_ns = 1;
    metrics.on_observed(observed);
  }

  Nanos now_ns = 0;
  host::LiveRequests::Door door{};
  Metrics metrics{{"tiny", 1000, [this] { return now_ns; }, [this] { return door; }}};
};

// --- Names

using Buckets = std::vector<const char*>;

TEST_F(MetricsTest, VllmsHistogramsHaveItsBuckets) {
  const Buckets first = {"0.001", "0.005", "0.01", "0.02", "0.04", "0.06", "0.08", "0.1", "0.25", "0.5", "0.75",
                         "1",     "2.5",   "5",    "7.5",  "10",   "20",   "40",   "80",  "160",  "640", "2560"};
  const Buckets token = {"0.01", "0.025", "0.05", "0.075", "0.1", "0.15", "0.2", "0.3", "0.4", "0.5",
                         "0.75", "1",     "2.5",  "5",     "7.5", "10",   "20",  "40",  "80"};
  const Buckets request = {"0.3", "0.5", "0.8", "1",  "1.5", "2",   "2.5", "5",   "10",   "15",  "20",
                           "30",  "40",  "50",  "60", "120", "240", "480", "960", "1920", "7680"};
  const Buckets tokens = {"1", "8", "16", "32", "64", "128", "256", "512", "1024", "2048", "4096", "8192", "16384"};
  const std::map<std::string, Buckets> expected = {
      {"time_to_first_token_seconds", first},           {"inter_token_latency_seconds", token},
      {"request_time_per_output_token_seconds", token}, {"e2e_request_latency_seconds", request},
      {"request_queue_time_seconds", request},          {"request_prefill_time_seconds", request},
      {"request_decode_time_seconds", request},         {"iteration_tokens_total", tokens}};
  const MetricsPage page = scrape();
  for (const auto& [name, buckets] : expected) {
    ASSERT_TRUE(page.families.contains("vllm:" + name)) << name;
    EXPECT_EQ(page.families.at("vllm:" + name).type, "histogram");
    EXPECT_EQ(page.families.at("vllm:" + name).samples, std::ssize(buckets) + 3) << name;
    for (const char* le : buckets) EXPECT_TRUE(page.has(bucket(name, le))) << name << " " << le;
    EXPECT_TRUE(page.has(bucket(name, "+Inf")));
  }
}

TEST_F(MetricsTest, VllmsCountersAndGauges) {
  const MetricsPage page = scrape();
  for (const char* name : {"prompt_tokens_total", "generation_tokens_total"}) {
    EXPECT_EQ(page.families.at(std::string("vllm:") + name).type, "counter");
    EXPECT_EQ(page.at(of_model(name)), 0);
  }
  for (const char* name : {"num_requests_running", "num_requests_waiting", "kv_cache_usage_perc"}) {
    EXPECT_EQ(page.families.at(std::string("vllm:") + name).type, "gauge");
    EXPECT_EQ(page.at(of_model(name)), 0);
  }
  for (const char* reason : {"stop", "length", "abort"})  // there from the start, so that rates see the first
    EXPECT_EQ(page.at(std::string(R"(vllm:request_success_total{engine="0",finished_reason=")") + reason +
                      R"(",model_name="tiny"})"),
              0);
}

// What `promtool check metrics` complains of; vLLM's names break two of its rules.
TEST_F(MetricsTest, Lint) {
  fill();
  const MetricsPage page = scrape({true, true, {1, 2}});
  EXPECT_GE(page.families.size(), 37u);
  static const std::regex units(
      "(^|_)(ns|us|ms|s|sec|milliseconds|nanoseconds|minutes|kb|mb|gb|kib|mib|gib|b|percent)(_|$)");
  for (const auto& [name, family] : page.families) {
    const bool ours = name.starts_with("afore_");
    EXPECT_TRUE(ours || name.starts_with("vllm:")) << name;
    EXPECT_FALSE(family.help.empty()) << name;
    EXPECT_FALSE(family.type.empty()) << name;
    EXPECT_GT(family.samples, 0) << name;
    const bool excepted = name == "vllm:iteration_tokens_total";  // a histogram
    EXPECT_EQ(family.type == "counter" || excepted, name.ends_with("_total")) << name;
    EXPECT_FALSE(std::regex_search(name, std::regex("_(bucket|count|sum|info|counter|gauge|histogram)$"))) << name;
    EXPECT_FALSE(std::regex_search(name, units)) << name << " is not in base units";
    EXPECT_FALSE(std::regex_search(name, std::regex("[A-Z]"))) << name;
    EXPECT_FALSE(ours && name.find(':') != std::string::npos) << name;
  }
}

TEST_F(MetricsTest, EveryNameIsInTheDocument) {
  fill();
  std::ifstream file(AFORE_SOURCE_DIR "/docs/metrics.md");
  const std::string document(std::istreambuf_iterator<char>(file), {});
  for (const auto& [name, family] : scrape({true, true, {1}}).families)
    EXPECT_NE(document.find('`' + name), std::string::npos) << name;
}

TEST_F(MetricsTest, WhatWasNeverMeasuredIsNotThere) {
  const MetricsPage page = scrape();
  for (const char* name :
       {"afore_eplb_balancedness", "afore_eplb_balancedness_min", "afore_imbalance", "afore_imbalance_mean",
        "afore_load_over_bound", "afore_plan_age_seconds", "afore_ffn_queue_depth", "afore_plans_total"})
    EXPECT_FALSE(page.families.contains(name)) << name;
}

TEST(Metrics, ModelNamesAreEscaped) {
  Metrics metrics({"a \"b\"\\c\nd", 1, [] { return Nanos{0}; }, [] { return host::LiveRequests::Door{}; }});
  const MetricsPage page(metrics.text({}));
  EXPECT_TRUE(page.has(R"(vllm:prompt_tokens_total{engine="0",model_name="a \"b\"\\c\nd"})"));
}

// --- Values

TEST_F(MetricsTest, TimesOfARequest) {
  fill();
  const MetricsPage page = scrape();
  EXPECT_DOUBLE_EQ(page.at(of_model("request_queue_time_seconds_sum")), 0.02);
  EXPECT_DOUBLE_EQ(page.at(of_model("request_prefill_time_seconds_sum")), 0.03);
  EXPECT_DOUBLE_EQ(page.at(of_model("request_decode_time_seconds_sum")), 0.06);
  EXPECT_DOUBLE_EQ(page.at(of_model("e2e_request_latency_seconds_sum")), 0.11);
  EXPECT_DOUBLE_EQ(page.at(of_model("request_time_per_output_token_seconds_sum")), 0.03);
  EXPECT_DOUBLE_EQ(page.at(of_model("time_to_first_token_seconds_sum")), 0.05);
  EXPECT_EQ(page.at(bucket("time_to_first_token_seconds", "0.04")), 0);
  EXPECT_EQ(page.at(bucket("time_to_first_token_seconds", "0.06")), 1);
  EXPECT_EQ(page.at(bucket("inter_token_latency_seconds", "0.025")), 0);
  EXPECT_EQ(page.at(bucket("inter_token_latency_seconds", "0.05")), 1);
  EXPECT_EQ(page.at(of_model("generation_tokens_total")), 2);
  EXPECT_EQ(page.at(of_model("prompt_tokens_total")), 40);
  EXPECT_EQ(page.at(of_model("iteration_tokens_total_sum")), 43);
  EXPECT_EQ(page.at(of_model("kv_cache_usage_perc")), 0.25);
}

TEST_F(MetricsTest, ABoundIsPartOfItsBucket) {
  metrics.on_token("r", true, 40 * kMs);
  EXPECT_EQ(scrape().at(bucket("time_to_first_token_seconds", "0.04")), 1);
}

TEST_F(MetricsTest, ARequestOfOneTokenHasNoTimePerToken) {
  metrics.on_admitted("r", 0);
  close("length", {0, 0, kMs, kMs, 1, 1});
  const MetricsPage page = scrape();
  EXPECT_EQ(page.at(of_model("request_time_per_output_token_seconds_count")), 0);
  EXPECT_EQ(page.at(of_model("request_decode_time_seconds_count")), 1);
}

TEST_F(MetricsTest, WhoIsNotCompleteHasNoLatency) {
  metrics.on_admitted("r", 0);
  close("cancelled", {0, 1, 2, 3, 4, 5});
  close("timeout", {0, kNoTime, kNoTime, 3, 4, 0});
  close("rejected", {0, kNoTime, kNoTime, 3, 4, 0});
  const MetricsPage page = scrape();
  EXPECT_EQ(page.at(of_model("e2e_request_latency_seconds_count")), 0);
  EXPECT_EQ(page.at(R"(vllm:request_success_total{engine="0",finished_reason="abort",model_name="tiny"})"), 2);
}

// Layer 1: 40 assignments, so 20 a worker, of the largest 30: 20/30. Layer 2: 25 of 40, 5/8. Their mean is 31/48, and
// not (20 + 25) / (30 + 40), nor anything over the targets that came before the layers' last ones.
TEST_F(MetricsTest, BalancednessIsOfEachLayerThenTheMeanOverLayers) {
  plan(1, {40, 0}, {4, 0});
  plan(2, {40, 10}, {4, 1});
  plan(1, {30, 10}, {3, 1});
  const MetricsPage page = scrape();
  EXPECT_DOUBLE_EQ(page.at("afore_eplb_balancedness"), (20. / 30 + 25. / 40) / 2);
  EXPECT_DOUBLE_EQ(page.at("afore_eplb_balancedness_min"), 25. / 40);
  EXPECT_DOUBLE_EQ(page.at(R"(afore_imbalance{of="tokens"})"), (30. / 20 + 40. / 25) / 2);
  EXPECT_DOUBLE_EQ(page.at(R"(afore_imbalance_mean{of="tokens"})"), (40. / 20 + 40. / 25 + 30. / 20) / 3);
  EXPECT_DOUBLE_EQ(page.at(R"(afore_imbalance{of="tiles"})"), (3. / 2 + 4. / 2.5) / 2);
}

TEST_F(MetricsTest, ATargetWithoutTokensIsNeitherEvenNorUneven) {
  plan(1, {0, 0}, {0, 0});
  EXPECT_FALSE(scrape().families.contains("afore_eplb_balancedness"));
  plan(2, {5, 5});
  EXPECT_EQ(scrape().at("afore_eplb_balancedness"), 1);
}

TEST_F(MetricsTest, PlansAndCopies) {
  now_ns = 5'000 * kMs;
  plan(1, {1, 1}, {3, 1}, 2, 2);
  plan(2, {1, 1}, {3, 1}, 1, 3);
  now_ns = 7'500 * kMs;
  Observed observed;
  metrics.on_observed(observed);
  observed.exposed_ns = 1'500 * kMs;
  metrics.on_observed(observed);
  observed.slot_wait_ns = 1;
  metrics.on_observed(observed);
  const MetricsPage page = scrape({true, false, {4, 0}});
  EXPECT_EQ(page.at(R"(afore_plans_total{policy="afore"})"), 2);
  EXPECT_EQ(page.at("afore_plan_age_seconds"), 2.5);
  EXPECT_EQ(page.at("afore_plan_seconds_count"), 2);
  EXPECT_DOUBLE_EQ(page.at("afore_plan_seconds_sum"), 0.0006);
  EXPECT_EQ(page.at("afore_expert_copies_total"), 3);
  EXPECT_EQ(page.at("afore_migration_bytes_total"), 3000);
  EXPECT_EQ(page.at("afore_load_over_bound"), (3. / 2 + 3. / 3) / 2);
  EXPECT_EQ(page.at("afore_exposed_seconds_total"), 3);
  EXPECT_EQ(page.at("afore_exposed_targets_total"), 2);
  EXPECT_EQ(page.at("afore_migration_stalls_total"), 1);
  EXPECT_EQ(page.at(R"(afore_ffn_queue_depth{worker="F0"})"), 4);
  EXPECT_EQ(page.at("afore_ready"), 1);
  EXPECT_EQ(page.at("afore_frozen"), 0);
}

// --- Requests

TEST_F(MetricsTest, RequestsAddUp) {
  door = {12, {3, 2, 1}};
  metrics.on_admitted("a", 0);
  metrics.on_admitted("b", 0);
  close("stop", {0, 0, 1, 2, 1, 2});
  close("rejected", {0, kNoTime, kNoTime, 3, 4, 0});
  const MetricsPage page = scrape();
  EXPECT_EQ(page.at("afore_requests_injected_total"), 12);
  EXPECT_EQ(page.at("afore_requests_completed_total"), 1);
  EXPECT_EQ(page.at("afore_requests_rejected_total"), 6);
  EXPECT_EQ(page.at("afore_requests_timed_out_total"), 0);
  EXPECT_EQ(page.at("afore_requests_cancelled_total"), 1);
  EXPECT_EQ(page.at("afore_requests_running"), 1);
  EXPECT_EQ(page.at("afore_requests_queued"), 3);
  EXPECT_EQ(page.at(of_model("num_requests_waiting")), 3);
  EXPECT_EQ(page.at(of_model("num_requests_running")), 1);
}

TEST_F(MetricsTest, AScrapeIsNoLongerForALongRun) {
  fill();
  const std::size_t lines = scrape().values.size();
  for (int i = 0; i < 20'000; ++i) fill();
  EXPECT_EQ(scrape().values.size(), lines);
}

}  // namespace
}  // namespace afore::http
