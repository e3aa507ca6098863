#include "host/threads/ffn_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <tuple>

#include "host/threads/engine.h"
#include "util/error.h"

namespace afore::host {
namespace {

// How often a copy that moves by itself is looked at.
constexpr auto kLookAtCopy = std::chrono::microseconds(20);
constexpr auto kLookAtHang = std::chrono::milliseconds(20);  // whether a copy that hangs may end

thread_local const FfnNode* tl_node = nullptr;  // whose thread this is

}  // namespace

FfnNode::FfnNode(ThreadEngine& engine, int index)
    : engine_(engine),
      index_(index),
      device_(engine.device().make_experts(index, engine.arena_slots())),
      actor_(index, engine.options().overlap, *this) {
  for (const int layer : engine.options().model.moe_layers) actor_.set_placement(layer, engine.first_placement(layer));
}

FfnNode::~FfnNode() { stop(); }

void FfnNode::load() {
  for (const int layer : engine_.options().model.moe_layers) {
    const LayerPlacement& map = engine_.first_placement(layer);
    for (int s = 0; s < map.slots_per_worker(); ++s)
      if (const int expert = map.expert_at(index_, s); expert != kNoExpert)
        device_->load(engine_.slot_index(layer, s), layer, expert);
  }
}

void FfnNode::start() {
  for (std::thread& thread : threads_) thread = engine_.start(fmt::format("F{}", index_), [this] { loop(); });
}

void FfnNode::stop() {
  {
    const std::lock_guard lock(mutex_);  // so that nobody is between looking and waiting
  }
  idle_.notify_all();
  lane_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

// --- Events

template <class Event>
void FfnNode::react(Event&& event) {
  std::vector<Deed> deeds;
  bool job = false;
  {
    const std::lock_guard lock(mutex_);
    event(engine_.now());
    deeds.swap(deeds_);
    job = has_job_;
  }
  if (job && tl_node != this) idle_.notify_one();  // a thread of this node takes it itself
  for (const Deed& deed : deeds) perform(deed);
}

void FfnNode::perform(const Deed& deed) {
  switch (deed.kind) {
    case Deed::Kind::done_at_once: react([&](Nanos now) { ffn_done(now, deed.target); }); break;
    case Deed::Kind::done: engine_.on_ffn_done(index_, deed.target, deed.times); break;
    case Deed::Kind::start_copy: engine_.start_copy(deed.id); break;
  }
}

void FfnNode::on_rows(const Target& target) {
  react([&](Nanos now) { actor_.on_rows(now, target); });
}

void FfnNode::on_plan_available() {
  add_to_lane([this] { ++plans_available_; });
}

void FfnNode::on_copy_ready(const CopyId& id, const PostedCopy& posted) {
  add_to_lane([&] { ready_.emplace_back(id, posted); });
}

// Whoever serves the lane looks once more before it leaves it.
template <class Change>
void FfnNode::add_to_lane(Change&& change) {
  bool served = false;
  {
    const std::lock_guard lock(mutex_);
    change();
    served = lane_served_;
  }
  (served ? lane_ : idle_).notify_one();
}

void FfnNode::on_copy_done(const CopyId& id, bool receives) {
  react([&](Nanos now) { actor_.on_copy_done(now, id, receives); });
}

void FfnNode::ffn_done(Nanos now, const Target& target) {
  taken_.pop_front();
  actor_.on_ffn_done(now, target);
}

std::int64_t FfnNode::queue() {
  const std::lock_guard lock(mutex_);
  return std::ssize(taken_) + plans_available_ - plans_taken_;
}

// --- Actions

Target FfnNode::target_of(std::int64_t serial) const {
  for (const pipeline::PlanPtr& plan : taken_)
    if (plan->serial == serial) return plan->plan.target;
  AFORE_CHECK(false, "a copy is posted for a plan that was not taken");
}

void FfnNode::post_copy(int, const CopyId& id, const Copy& copy, bool receives, int layer, int slot) {
  engine_.post_copy(id, {copy, layer, target_of(id.serial)}, receives, slot);
}

void FfnNode::release_copy(int, const CopyId& id, bool receives) {
  for (const CopyId& started : engine_.release_copy(id, receives))
    deeds_.push_back({Deed::Kind::start_copy, {}, {}, started});
}

void FfnNode::run_ffn(int, const Target& target, std::int64_t, std::int64_t activated, std::span<const int> slots) {
  AFORE_CHECK(!has_job_ && !taken_.empty() && taken_.front()->plan.target == target, "a worker computes out of order");
  if (activated == 0 && !engine_.options().paced) {  // nothing here: no need to wake anybody
    deeds_.push_back({Deed::Kind::done_at_once, target, {}, {}});
    return;
  }
  has_job_ = true;
  job_.target = target;
  job_.plan = taken_.front();
  job_.slots.assign(slots.begin(), slots.end());
  job_.start_ns = engine_.now();
}

void FfnNode::report(int, const Target& target, const pipeline::WorkerTimes& times) {
  deeds_.push_back({Deed::Kind::done, target, times, {}});
}

// --- Threads

void FfnNode::loop() {
  tl_node = this;
  Job job;
  while (wait_for_job(job)) {
    compute(job);
    if (engine_.stopping()) return;
    react([&](Nanos now) { ffn_done(now, job.target); });
  }
}

bool FfnNode::wait_for_job(Job& job) {
  std::unique_lock lock(mutex_);
  while (true) {
    idle_.wait(lock, [this] { return has_job_ || (!lane_served_ && lane_has_work()) || engine_.stopping(); });
    if (engine_.stopping()) return false;
    if (has_job_) break;
    lane_served_ = true;
    lock.unlock();
    serve_lane();
    lock.lock();
    lane_served_ = false;
  }
  std::swap(job, job_);
  has_job_ = false;
  const bool lane_waits = !lane_served_ && lane_has_work();
  lock.unlock();
  if (lane_waits) idle_.notify_one();
  return true;
}

void FfnNode::compute(const Job& job) {
  const auto planned = job.plan->of(index_);
  shares_.clear();
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const std::int64_t slot = job.plan->plan.is_virtual ? engine_.everywhere(job.target.layer, planned[i].expert)
                                                        : engine_.slot_index(job.target.layer, job.slots[i]);
    shares_.push_back({planned[i].expert, planned[i].first, planned[i].tokens, slot});
  }
  device_->wait(device_->run(engine_.steps(job.target), shares_));
  engine_.pace(job.start_ns, engine_.paced_ffn_ns(index_, *job.plan));
  engine_.timeline('F', index_, "compute", "expert_ffn", job.target, job.start_ns);
}

// --- The lane

bool FfnNode::lane_has_work() const { return plans_taken_ < plans_available_ || !ready_.empty() || moving_; }

// Takes plans as they become available and moves one copy at a time, until there is nothing to do or a job for this
// thread.
void FfnNode::serve_lane() {
  while (!engine_.stopping()) {
    const bool took = take_plan();
    {
      const std::lock_guard lock(mutex_);
      if (has_job_) return;
    }
    const bool moved = advance_copy();
    const bool started = start_copy();
    if (took || moved || started) continue;
    if (!moving_) return;
    std::unique_lock lock(mutex_);  // it moves by itself, or is paced and ends later
    const auto left = std::chrono::nanoseconds(moving_->end_ns - engine_.now());
    lane_.wait_for(lock, moving_->moved ? std::min<std::chrono::nanoseconds>(left, kLookAtHang) : kLookAtCopy,
                   [this] { return plans_taken_ < plans_available_ || has_job_ || engine_.stopping(); });
  }
}

bool FfnNode::take_plan() {
  std::int64_t serial = 0;
  {
    const std::lock_guard lock(mutex_);
    if (plans_taken_ == plans_available_) return false;
    serial = plans_taken_++;
  }
  const pipeline::PlanPtr plan = engine_.take_plan(index_, serial);
  react([&](Nanos now) {
    taken_.push_back(plan);
    actor_.on_plan(now, plan);
  });
  return true;
}

bool FfnNode::start_copy() {
  if (moving_) return false;
  {
    const std::lock_guard lock(mutex_);
    if (ready_.empty()) return false;
    moving_.emplace();
    std::tie(moving_->id, moving_->posted) = ready_.front();
    ready_.pop_front();
  }
  react([&](Nanos now) {
    moving_->start_ns = now;
    actor_.on_copy_started(now, moving_->id);
  });
  const PostedCopy& posted = moving_->posted;
  moving_->ticket =
      device_->copy(engine_.ffn_device(posted.copy.from), engine_.slot_index(posted.layer, posted.from_slot),
                    engine_.slot_index(posted.layer, posted.to_slot));
  moving_->end_ns = engine_.on_copy_started(posted.copy, moving_->start_ns);
  return true;
}

// False: there is nothing to do for it now.
bool FfnNode::advance_copy() {
  if (!moving_) return false;
  if (!moving_->moved) {
    moving_->moved = device_->poll(moving_->ticket);
    return moving_->moved || device_->polls_move();
  }
  if (!engine_.copy_may_end(moving_->end_ns)) return false;
  const MovingCopy done = *moving_;
  moving_.reset();
  engine_.timeline('F', index_, "copy", "copy_expert", done.posted.target, done.start_ns);
  engine_.on_copy_ended(done.id, done.posted.copy);
  return true;
}

}  // namespace afore::host
