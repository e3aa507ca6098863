#pragma once
// The scheduler: its actor on a thread of its own. Whoever has news posts it; they are handled in order.
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include "pipeline/scheduler.h"

namespace afore::host {

class ThreadEngine;

class SchedulerNode final : pipeline::Scheduler::Actions {
 public:
  explicit SchedulerNode(ThreadEngine& engine);
  ~SchedulerNode();

  void start();
  void stop();

  void on_target(const Demand& demand);  // without counts
  void on_demand(int source, const Target& target, std::vector<std::int64_t> counts);
  void on_ring_free();
  // Wall-clock time of each plan so far, in ns; when it is stopped.
  const std::vector<double>& plan_ns() const { return plan_ns_; }

 private:
  struct News {
    enum class Kind { target, demand, ring_free } kind;
    int source = 0;
    Demand demand;  // its counts are the source's part
  };
  void post(News news);
  void loop();
  void handle(const News& news);

  void start_planning(const Demand& demand) override;
  bool publish(const Target& target) override;

  ThreadEngine& engine_;
  pipeline::Scheduler actor_;
  std::optional<Target> planned_;  // just now: the actor is told when it has returned
  std::vector<double> plan_ns_;

  std::mutex mutex_;
  std::condition_variable posted_;
  std::deque<News> inbox_;  // bounded by the Coordinator
  std::thread thread_;
};

}  // namespace afore::host
