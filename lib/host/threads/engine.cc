// The engine's life, its targets and its output; messages.cc has what the nodes tell each other through it.
#include "host/threads/engine.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "device/cpu/thread_pool.h"
#include "host/threads/start_thread.h"
#include "pipeline/latency.h"
#include "util/error.h"

namespace afore::host {
namespace {

// Room for some dozens of plans: more than the Coordinator lets targets be in flight.
RingOptions ring_options(const ThreadOptions& options, int slots_per_worker) {
  RingOptions ring;
  ring.readers = static_cast<int>(options.cluster.ffn_workers);
  ring.shape = {static_cast<int>(options.model.experts), ring.readers, slots_per_worker};
  const std::int64_t plan_bytes =
      4096 + 128 * options.model.experts + 128 * options.cluster.ffn_workers * slots_per_worker;
  ring.cells = static_cast<int>(32 * (plan_bytes / static_cast<std::int64_t>(ring.cell_bytes) + 1));
  return ring;
}

SharedRing make_ring(const RingOptions& options) {
  return {SharedMemory("afore-plans", SharedRing::memory_bytes(options)), options};
}

[[noreturn]] void throw_late(const std::string& what, Nanos deadline_ns) {
  throw Error(ErrorKind::io, what + " did not end within " + std::to_string(deadline_ns / 1'000'000) + " ms",
              "a worker hangs, or the machine is far too slow for this load (--deadline-s)");
}

constexpr auto kLookEvery = std::chrono::milliseconds(20);  // at signals

}  // namespace

ThreadEngine::ThreadEngine(const ThreadOptions& options, device::Device& device,
                           const pipeline::PlannerOptions& planner, ThreadSink sink)
    : options_(options),
      sink_(std::move(sink)),
      device_(device),
      plans_(pipeline::live_plans(options.model, options.cluster, options.layer_cost, planner,
                                  [this](const pipeline::PlannedTarget& planned) { just_planned_ = planned; })),
      planner_(planner),
      coordinator_(attention_count(), static_cast<int>(2 * options.cluster.microbatches + 2), *this),
      ports_(ffn_count()),
      links_(options.pipeline_cost, attention_count(), ffn_count()),
      metrics_(options.cluster, options.layer_cost, pipeline::RunMetrics::Requests::counted_elsewhere,
               options.latency_sample),
      sampled_(static_cast<std::size_t>(options.cluster.microbatches), 0),
      awaited_(sampled_.size(), 0),
      ring_(make_ring(ring_options(options, plans_->placement(options.model.moe_layers[0]).slots_per_worker()))) {
  for (std::size_t i = 0; i < options_.model.moe_layers.size(); ++i) {
    const int layer = options_.model.moe_layers[i];
    ordinals_[layer] = static_cast<int>(i);
    first_placements_.emplace(layer, plans_->placement(layer));
  }
  if (planner.policy == "ideal") device_.load_everywhere(options_.model.moe_layers);
  make_nodes();
  load_experts();
  clock_.restart();
  try {
    start_nodes();
  } catch (...) {
    stop();  // those that were started wait for work
    throw;
  }
}

void ThreadEngine::make_nodes() {
  scheduler_ = std::make_unique<SchedulerNode>(*this);
  for (int a = 0; a < attention_count(); ++a) attention_.push_back(std::make_unique<AttentionNode>(*this, a));
  for (int w = 0; w < ffn_count(); ++w) ffn_.push_back(std::make_unique<FfnNode>(*this, w));
}

void ThreadEngine::start_nodes() {
  if (options_.paced)
    timer_ = std::make_unique<Timer>(clock_, [this](const std::exception_ptr& error) { fail("timer", error); });
  scheduler_->start();
  for (const auto& node : attention_) node->start();
  for (const auto& node : ffn_) node->start();
}

void ThreadEngine::load_experts() {
  device::cpu::ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  pool.run(ffn_count(), [this](std::int64_t w, int) { ffn_[w]->load(); });
}

ThreadEngine::~ThreadEngine() { stop(); }

void ThreadEngine::stop() {
  stopping_.store(true, std::memory_order_release);
  if (in_flight()) device_.abort("the run was stopped");  // failed, late or cut short: what hangs would not be joined
  if (timer_) timer_->stop();
  scheduler_->stop();
  for (const auto& node : attention_) node->stop();
  for (const auto& node : ffn_) node->stop();
}

bool ThreadEngine::in_flight() {
  {
    const std::lock_guard lock(flights_mutex_);
    if (!flights_.empty()) return true;
  }
  const std::lock_guard lock(serve_mutex_);
  return sampled_ != awaited_;
}

std::thread ThreadEngine::start(const std::string& name, std::function<void()> body) {
  return start_thread(name, [this, name, body = std::move(body)] {
    try {
      body();
    } catch (...) {
      fail(name, std::current_exception());
    }
  });
}

void ThreadEngine::throw_failure() {
  std::exception_ptr failure;
  {
    const std::lock_guard lock(serve_mutex_);
    failure = failure_;
  }
  if (failure) std::rethrow_exception(failure);
}

std::int64_t ThreadEngine::arena_slots() const {
  const std::int64_t slots = first_placements_.begin()->second.slots_per_worker() + 1;
  return slots * static_cast<std::int64_t>(first_placements_.size());
}

std::int64_t ThreadEngine::slot_index(int layer, int slot) const {
  const std::int64_t slots = first_placements_.begin()->second.slots_per_worker() + 1;
  return ordinals_.at(layer) * slots + slot;
}

std::int64_t ThreadEngine::everywhere(int layer, int expert) const {
  return -1 - (ordinals_.at(layer) * options_.model.experts + expert);
}

// --- For the thread that serves

void ThreadEngine::on_target(const Target& target, Phase phase, std::int64_t tokens, const Batch& batch) {
  Demand demand;
  demand.target = target;
  demand.phase = phase;
  demand.tokens = tokens;
  {
    const std::lock_guard lock(metrics_mutex_);
    metrics_.on_target(demand, &batch);
  }
  const std::lock_guard lock(coordinator_mutex_);
  coordinator_.on_target(demand, batch);
}

void ThreadEngine::end_step(int microbatch) {
  {
    const std::lock_guard lock(serve_mutex_);
    ++awaited_[microbatch];
  }
  const std::lock_guard lock(coordinator_mutex_);
  coordinator_.on_step_end(microbatch);
}

bool ThreadEngine::wait_sampled(int microbatch, const RunLimits& limits) {
  const Nanos deadline_ns = now() + options_.deadline_ns;
  while (true) {
    {
      std::unique_lock lock(serve_mutex_);
      serve_changed_.wait_for(
          lock, kLookEvery, [&] { return failure_ || sampled_[microbatch] == awaited_[microbatch] || !news_.empty(); });
      if (!failure_ && news_.empty() && sampled_[microbatch] == awaited_[microbatch]) return true;
    }
    throw_failure();
    deliver_news();
    if (limits.reached(now())) return false;
    if (now() >= deadline_ns)
      throw_late("microbatch " + std::to_string(microbatch) + ": its step", options_.deadline_ns);
  }
}

void ThreadEngine::drain() {
  draining_.store(true, std::memory_order_relaxed);
  bool in_time = false;
  {
    std::unique_lock lock(serve_mutex_);
    in_time = serve_changed_.wait_for(lock, std::chrono::nanoseconds(options_.deadline_ns),
                                      [this] { return failure_ || !copying(); });
  }
  throw_failure();
  if (!in_time) throw_late("copies of experts: the last of them", options_.deadline_ns);
}

void ThreadEngine::wait_until(Nanos at_ns, const RunLimits& limits) {
  while (now() < at_ns && !limits.signalled()) {
    std::unique_lock lock(serve_mutex_);
    const auto left = std::chrono::nanoseconds(at_ns - now());
    serve_changed_.wait_for(lock, std::min<std::chrono::nanoseconds>(left, kLookEvery), [&] { return bool(failure_); });
    if (failure_) break;
  }
  throw_failure();
}

Nanos ThreadEngine::copying_ns() {
  const std::lock_guard lock(metrics_mutex_);
  return metrics_.copies().copying_ns(now());
}

std::int64_t ThreadEngine::gate_tokens() const {
  std::int64_t tokens = 0;
  for (const auto& node : attention_) tokens += node->device().gate_tokens();
  return tokens;
}

Summary ThreadEngine::summary() {
  deliver_news();
  Summary summary = metrics_.summary();
  summary.host = "threads";
  const std::string sharing = device_.sharing();
  summary.device = device_.name() + (sharing.empty() ? "" : ", ") + sharing;
  summary.plan_ns = scheduler_->plan_ns().plan_time();
  return summary;
}

// --- Output

void ThreadEngine::tell(std::function<void()> news) {
  const std::lock_guard lock(serve_mutex_);
  news_.push_back(std::move(news));
}

void ThreadEngine::deliver_news() {
  std::vector<std::function<void()>> news;
  {
    const std::lock_guard lock(serve_mutex_);
    news.swap(news_);
  }
  for (const auto& deliver : news) deliver();
}

void ThreadEngine::timeline(char pool, int worker, const char* lane, const char* op, const Target& target,
                            Nanos start_ns) {
  if (!sink_.operation) return;
  tell([this, operation = Operation{pool + std::to_string(worker), lane, op, target, start_ns, now()}] {
    sink_.operation(operation);
  });
}

}  // namespace afore::host
