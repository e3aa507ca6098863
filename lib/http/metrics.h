#pragma once
// What an operator looks at, in Prometheus' text format: requests and latencies under vLLM's names, labels and buckets,
// plans and copies under ours. Every name, its unit and where it comes from: docs/metrics.md, "/metrics".
//
// A scrape is of one moment: all is counted under one mutex, which is held for moments. Its cost, and what is kept, do
// not grow with the run.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "host/live_requests.h"
#include "host/serving_observer.h"
#include "pipeline/planner.h"

namespace afore::http {

struct MetricsOptions {
  std::string model_name;
  std::int64_t expert_bytes = 0;
  std::function<Nanos()> clock;                    // of the serving loop
  std::function<host::LiveRequests::Door()> door;  // LiveRequests::door() of the loop's source
};

class Metrics final : public host::ServingObserver {
 public:
  explicit Metrics(MetricsOptions options);
  ~Metrics() override;

  // By the thread that serves.
  void on_admitted(const std::string& id, Nanos queue_ns) override;
  void on_token(const std::string& id, bool first, Nanos since_ns) override;
  void on_closed(const Completion& completion, const pipeline::RequestTimes& times) override;
  void on_step(const host::StepTokens& tokens) override;
  void on_load(const host::ServingLoad& load) override;
  void on_planned(const Demand& demand, const pipeline::PlannedTarget& planned);
  void on_observed(const Observed& observed);

  // Of the moment of a scrape.
  struct State {
    bool ready = false, frozen = false;
    std::vector<std::int64_t> ffn_queue{};  // by FFN worker: EngineHealth::ffn_queue
  };
  std::string text(const State& state);  // by any thread

 private:
  struct Counts;
  std::unique_ptr<Counts> counts_;
};

}  // namespace afore::http
