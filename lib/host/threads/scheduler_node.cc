#include "host/threads/scheduler_node.h"

#include "host/threads/engine.h"

namespace afore::host {

SchedulerNode::SchedulerNode(ThreadEngine& engine)
    : engine_(engine), actor_(static_cast<int>(engine.options().cluster.attention_workers), *this) {}

SchedulerNode::~SchedulerNode() { stop(); }

void SchedulerNode::start() {
  thread_ = std::thread([this] { engine_.guard([this] { loop(); }); });
}

void SchedulerNode::stop() {
  {
    const std::lock_guard lock(mutex_);
  }
  posted_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void SchedulerNode::post(News news) {
  {
    const std::lock_guard lock(mutex_);
    inbox_.push_back(std::move(news));
  }
  posted_.notify_one();
}

void SchedulerNode::on_target(const Demand& demand) { post({News::Kind::target, 0, demand}); }

void SchedulerNode::on_demand(int source, const Target& target, std::vector<std::int64_t> counts) {
  News news{News::Kind::demand, source, {}};
  news.demand.target = target;
  news.demand.counts = std::move(counts);
  post(std::move(news));
}

void SchedulerNode::on_ring_free() { post({News::Kind::ring_free, 0, {}}); }

void SchedulerNode::loop() {
  while (true) {
    News news;
    {
      std::unique_lock lock(mutex_);
      posted_.wait(lock, [this] { return !inbox_.empty() || engine_.stopping(); });
      if (engine_.stopping()) return;
      news = std::move(inbox_.front());
      inbox_.pop_front();
    }
    handle(news);
    while (planned_ && !engine_.stopping()) {
      const Target target = *planned_;
      planned_.reset();
      actor_.on_planned(target);
    }
  }
}

void SchedulerNode::handle(const News& news) {
  switch (news.kind) {
    case News::Kind::target:
      actor_.on_target(news.demand.target, news.demand.phase, news.demand.tokens,
                       static_cast<int>(engine_.options().model.experts));
      break;
    case News::Kind::demand: actor_.on_demand(news.source, news.demand.target, news.demand.counts); break;
    case News::Kind::ring_free: actor_.on_ring_free(); break;
  }
}

void SchedulerNode::start_planning(const Demand& demand) {
  const Nanos start_ns = engine_.now();
  engine_.plan(demand);
  plan_ns_.push_back(static_cast<double>(engine_.now() - start_ns));
  if (engine_.options().paced) engine_.pace(start_ns, engine_.options().pipeline_cost.scheduler_ns);
  planned_ = demand.target;
}

bool SchedulerNode::publish(const Target& target) { return engine_.publish(target); }

}  // namespace afore::host
