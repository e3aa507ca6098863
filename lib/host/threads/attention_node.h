#pragma once
// One attention worker: its actor, its cache and a thread that computes. Events as in FfnNode.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "device/device.h"
#include "pipeline/attention_worker.h"

namespace afore::host {

class ThreadEngine;

class AttentionNode final : pipeline::AttentionWorker::Actions {
 public:
  AttentionNode(ThreadEngine& engine, int index);
  ~AttentionNode() override;

  void start();
  void stop();

  void on_work(const pipeline::WorkItem& item);
  void on_outputs(const Target& target);

  device::Attention& device() { return *device_; }
  // Of a microbatch; filled between its steps by who composes them.
  device::Step& step(int microbatch) { return *steps_[microbatch]; }
  // FFN workers that wrote to a partial combine of the microbatch's target.
  std::vector<bool>& wrote(int microbatch) { return wrote_[microbatch]; }

 private:
  struct Deed {
    enum class Kind { demand, rows, item_done } kind;
    Target target;
    pipeline::WorkItem item;
  };
  template <class Event>
  void react(Event&& event);
  void perform(const Deed& deed);
  void loop();
  void compute(const pipeline::WorkItem& item, Nanos start_ns);

  // Actions
  void run_attention(int worker, const pipeline::WorkItem& item) override { give(item, worker); }
  void run_sampling(int worker, const pipeline::WorkItem& item) override { give(item, worker); }
  void send_rows(int worker, const Target& target) override;
  void send_demand(int worker, const Target& target, std::span<const std::int64_t> counts) override;
  void item_done(int worker, const pipeline::WorkItem& item) override;
  void give(const pipeline::WorkItem& item, int worker);

  ThreadEngine& engine_;
  const int index_;
  std::unique_ptr<device::Attention> device_;
  std::vector<std::unique_ptr<device::Step>> steps_;
  std::vector<std::vector<bool>> wrote_;

  std::mutex mutex_;
  pipeline::AttentionWorker actor_;
  std::vector<Deed> deeds_;
  std::condition_variable job_ready_;
  bool has_job_ = false;
  pipeline::WorkItem job_;
  Nanos job_start_ns_ = 0;
  std::thread thread_;
};

}  // namespace afore::host
