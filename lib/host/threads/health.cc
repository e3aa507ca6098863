// What an engine tells of itself, and what it is told to do wrong.
#include "host/threads/health.h"

#include <cctype>
#include <limits>

#include "host/threads/engine.h"
#include "util/error.h"

namespace afore::host {
namespace {

constexpr Nanos kHung = std::numeric_limits<Nanos>::max();  // when a copy ends that hangs

std::string what(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const std::exception& e) {
    return e.what();
  } catch (...) {
    return "of something that is no exception";
  }
}

}  // namespace

// Each part is of its own moment: no two mutexes are held at once, and what is asked is how long things have lasted.
EngineHealth ThreadEngine::health() {
  EngineHealth health;
  scheduler_->fill(health);
  {
    const std::lock_guard lock(ports_mutex_);
    for (const auto& [id, posted] : posted_)
      if (posted.started_ns != kAbsent && (!health.oldest_copy || posted.started_ns < health.oldest_copy->since_ns))
        health.oldest_copy = {posted.copy, posted.layer, posted.started_ns};
  }
  for (const auto& node : ffn_) health.ffn_queue.push_back(node->queue());
  const std::lock_guard lock(serve_mutex_);
  health.failure = failure_text_;
  return health;
}

void ThreadEngine::fail(const std::string& thread, const std::exception_ptr& error) {
  {
    const std::lock_guard lock(serve_mutex_);
    if (!failure_) {
      failure_ = error;
      const bool is_word = std::islower(static_cast<unsigned char>(thread[0])) != 0;  // A0 and F0 are names
      failure_text_ = (is_word ? "the " : "") + thread + " died: " + what(error);
    }
  }
  stopping_.store(true, std::memory_order_release);
  serve_changed_.notify_all();
}

// --- Faults

bool ThreadEngine::is_due(const std::optional<Nanos>& after_ns) const { return after_ns && now() >= *after_ns; }

void ThreadEngine::disturb_plan() {
  if (is_due(options_.faults.fail_scheduler_after_ns))
    throw Error(ErrorKind::internal, "the scheduler fails, as it was told to");
  if (is_due(options_.faults.hang_plan_after_ns)) clock_.sleep_until(kHung, stopping_);
}

Nanos ThreadEngine::disturb_copy(Nanos end_ns) const {
  return is_due(options_.faults.hang_copy_after_ns) ? kHung : end_ns;
}

bool ThreadEngine::copy_may_end(Nanos end_ns) const {
  return now() >= end_ns || (end_ns == kHung && draining_.load(std::memory_order_relaxed));
}

}  // namespace afore::host
