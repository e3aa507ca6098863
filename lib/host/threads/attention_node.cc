#include "host/threads/attention_node.h"

#include <fmt/format.h>

#include "host/threads/engine.h"
#include "util/error.h"

namespace afore::host {

using pipeline::WorkItem;

AttentionNode::AttentionNode(ThreadEngine& engine, int index)
    : engine_(engine),
      index_(index),
      device_(engine.device().make_attention(index)),
      wrote_(static_cast<std::size_t>(engine.options().cluster.microbatches)),
      actor_(index, *this) {
  for (std::size_t m = 0; m < wrote_.size(); ++m) steps_.push_back(device_->make_step());
}

AttentionNode::~AttentionNode() { stop(); }

void AttentionNode::start() {
  thread_ = engine_.start(fmt::format("A{}", index_), [this] { loop(); });
}

void AttentionNode::stop() {
  {
    const std::lock_guard lock(mutex_);  // so that nobody is between looking and waiting
  }
  job_ready_.notify_all();
  if (thread_.joinable()) thread_.join();
}

template <class Event>
void AttentionNode::react(Event&& event) {
  std::vector<Deed> deeds;
  bool job = false;
  {
    const std::lock_guard lock(mutex_);
    event();
    deeds.swap(deeds_);
    job = has_job_;
  }
  if (job) job_ready_.notify_one();  // woken under the mutex, it would wait for that at once
  for (const Deed& deed : deeds) perform(deed);
}

void AttentionNode::perform(const Deed& deed) {
  switch (deed.kind) {
    // The part of the demand was read by its actor's event; the counts stay as they are until the target is combined.
    case Deed::Kind::demand: engine_.on_demand(index_, deed.target, steps_[deed.target.microbatch]->counts); break;
    case Deed::Kind::rows: engine_.on_rows(deed.target); break;
    case Deed::Kind::item_done: engine_.on_item_done(deed.item); break;
  }
}

void AttentionNode::on_work(const WorkItem& item) {
  react([&] { actor_.on_work(item); });
}

void AttentionNode::on_outputs(const Target& target) {
  react([&] { actor_.on_outputs(target); });
}

void AttentionNode::give(const WorkItem& item, int) {
  has_job_ = true;
  job_ = item;
  job_start_ns_ = engine_.now();
}

void AttentionNode::send_demand(int, const Target& target, std::span<const std::int64_t>) {
  deeds_.push_back({Deed::Kind::demand, target, {}});
}

void AttentionNode::send_rows(int, const Target& target) { deeds_.push_back({Deed::Kind::rows, target, {}}); }

void AttentionNode::item_done(int, const WorkItem& item) {
  deeds_.push_back({Deed::Kind::item_done, item.target, item});
}

void AttentionNode::loop() {
  while (true) {
    WorkItem item;
    Nanos start_ns = 0;
    {
      std::unique_lock lock(mutex_);
      job_ready_.wait(lock, [this] { return has_job_ || engine_.stopping(); });
      if (engine_.stopping()) return;
      item = job_;
      start_ns = job_start_ns_;
      has_job_ = false;
    }
    compute(item, start_ns);
    if (engine_.stopping()) return;
    react([&] {
      if (item.kind == WorkItem::Kind::sampling) actor_.on_sampling_done();
      else actor_.on_attention_done(item.target, steps_[item.target.microbatch]->counts);
    });
    engine_.lend_to_scheduler();
  }
}

void AttentionNode::compute(const WorkItem& item, Nanos start_ns) {
  device::Step& step = *steps_[item.target.microbatch];
  if (item.first_in_step) device_->begin(step);
  else device_->combine(step, wrote_[item.target.microbatch]);
  if (item.kind == WorkItem::Kind::sampling) {
    device_->wait(device_->sample(step));
    engine_.pace(start_ns, engine_.paced_sampling_ns(step));
    engine_.timeline('A', index_, "compute", "sampling", item.target, start_ns);
    return;
  }
  device_->wait(device_->to_gate(step, item.target.layer));
  engine_.pace(start_ns, engine_.paced_attention_ns(item));
  engine_.timeline('A', index_, "compute", "attention", item.target, start_ns);
}

}  // namespace afore::host
