#include "kernels/shim/queues.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <utility>
#include <vector>

#include "kernels/shim/devices.h"
#include "kernels/shim/schedule.h"
#include "kernels/shim/status.h"

namespace afore::shim {
namespace {

std::vector<std::shared_ptr<CUstream_st>> streams;  // in order of their making; destroyed ones until they are empty
std::vector<std::shared_ptr<CUevent_st>> events;
std::uint64_t num_operations = 0;
std::condition_variable operation_ended;

bool may_run(const CUstream_st& stream) {
  if (stream.running || stream.operations.empty()) return false;
  const Operation& next = stream.operations.front();
  return next.waits == nullptr || next.waits->done;
}

// One of those whose next operation may run; in order, the one whose call came first.
std::shared_ptr<CUstream_st> choose() {
  std::vector<std::shared_ptr<CUstream_st>> able;
  for (const auto& stream : streams)
    if (may_run(*stream)) able.push_back(stream);
  if (able.empty()) return nullptr;
  if (random_schedule()) return able[draw(able.size())];
  return *std::min_element(able.begin(), able.end(), [](const auto& a, const auto& b) {
    return a->operations.front().number < b->operations.front().number;
  });
}

void mark(const Operation& operation) {
  if (operation.marks != nullptr) *operation.marks = {true, std::chrono::steady_clock::now()};
}

void run_operation(Lock& lock, Operation& operation) {
  if (!operation.run) return;
  if (!operation.host_function) return operation.run();
  lock.unlock();
  {
    const InHostFunction here;
    operation.run();
  }
  lock.lock();
}

// False when nothing may run.
bool step(Lock& lock) {
  const std::shared_ptr<CUstream_st> stream = choose();
  if (stream == nullptr) return false;
  stream->running = true;
  Operation operation = std::move(stream->operations.front());
  stream->operations.pop_front();
  try {
    run_operation(lock, operation);
  } catch (const std::exception& error) {
    set_fault(error.what());
  } catch (...) {
    set_fault("a kernel threw what is no std::exception");
  }
  if (faulted()) drop_operations();
  mark(operation);
  stream->running = false;
  ++stream->finished;
  operation_ended.notify_all();
  std::erase_if(streams, [](const auto& one) { return one->destroyed && one->operations.empty() && !one->running; });
  return true;
}

template <class T>
std::shared_ptr<T> find(const std::vector<std::shared_ptr<T>>& all, const T* handle) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.get() == handle; });
  return found == all.end() ? nullptr : *found;
}

}  // namespace

cudaStream_t add_stream(int device) {
  streams.push_back(std::make_shared<CUstream_st>());
  streams.back()->device = device;
  streams.back()->sms = driver().sms;
  return streams.back().get();
}
cudaEvent_t add_event(int device, bool timed) {
  events.push_back(std::make_shared<CUevent_st>());
  events.back()->device = device;
  events.back()->timed = timed;
  return events.back().get();
}
std::shared_ptr<CUstream_st> find_stream(cudaStream_t stream) {
  const auto found = find(streams, stream);
  return found == nullptr || found->destroyed ? nullptr : found;
}
std::shared_ptr<CUevent_st> find_event(cudaEvent_t event) { return find(events, event); }
void remove_stream(cudaStream_t stream) {
  stream->destroyed = true;
  std::erase_if(streams,
                [&](const auto& one) { return one.get() == stream && one->operations.empty() && !one->running; });
}
void remove_event(cudaEvent_t event) {
  std::erase_if(events, [&](const auto& one) { return one.get() == event; });
}

void enqueue(Lock& lock, CUstream_st& stream, Operation operation) {
  operation.number = num_operations++;
  stream.operations.push_back(std::move(operation));
  ++stream.queued;
  if (early_schedule())
    while (!faulted() && step(lock)) {
    }
}

cudaError_t run_until(Lock& lock, const std::function<bool()>& done) {
  while (!faulted() && !done())
    if (!step(lock)) operation_ended.wait(lock);  // for a host function that another thread runs
  return faulted() ? cudaErrorLaunchFailure : cudaSuccess;
}

cudaError_t finish(Lock& lock, const std::shared_ptr<CUstream_st>& stream) {
  return run_until(lock, [&, end = stream->queued] { return stream->finished >= end; });
}

cudaError_t finish_device(Lock& lock, int device) {
  std::vector<std::pair<std::shared_ptr<CUstream_st>, std::uint64_t>> all;
  for (const auto& stream : streams)
    if (stream->device == device) all.emplace_back(stream, stream->queued);
  return run_until(lock, [&] {
    return std::all_of(all.begin(), all.end(), [](const auto& one) { return one.first->finished >= one.second; });
  });
}

void finish_record(Record& record) {
  if (!record.done) record = {true, std::chrono::steady_clock::now()};
  operation_ended.notify_all();
}

void run_some(Lock& lock) {
  for (std::uint64_t left = random_schedule() ? draw(3) : 1; left > 0 && !faulted(); --left)
    if (!step(lock)) return;
}

bool has_streams(const CUgreenCtx_st* context) {
  return std::any_of(streams.begin(), streams.end(), [&](const auto& one) { return one->context == context; });
}

void drop_operations() {
  for (const auto& stream : streams) {
    for (const Operation& operation : stream->operations) mark(operation);
    stream->finished += stream->operations.size();
    stream->operations.clear();
  }
}

void drop_all() {
  streams.clear();
  events.clear();
}

}  // namespace afore::shim
