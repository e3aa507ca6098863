// The runtime API's streams and events.
#include <utility>

#include "kernels/shim/devices.h"
#include "kernels/shim/green_contexts.h"
#include "kernels/shim/memory.h"
#include "kernels/shim/queues.h"
#include "kernels/shim/settings.h"
#include "kernels/shim/status.h"

using namespace afore::shim;

namespace {

// The prologue of a call on a stream: the lock, and why not.
template <class Do>
cudaError_t with_stream(cudaStream_t handle, Do body) {
  Lock lock = take_lock();
  if (const cudaError_t error = refusal()) return report(error);
  const std::shared_ptr<CUstream_st> stream = handle == nullptr ? nullptr : find_stream(handle);
  if (handle != nullptr && stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  return report(body(lock, stream));
}
template <class Do>
cudaError_t with_event(cudaEvent_t handle, Do body) {
  Lock lock = take_lock();
  if (const cudaError_t error = refusal()) return report(error);
  const std::shared_ptr<CUevent_st> event = find_event(handle);
  if (event == nullptr) return report(cudaErrorInvalidResourceHandle);
  return report(body(lock, event));
}

bool done(const CUevent_st& event) { return event.last == nullptr || event.last->done; }

}  // namespace

namespace afore::shim {

void set_devices(int count, std::size_t memory_bytes) {
  const Lock lock = take_lock();
  drop_all();
  drop_green_contexts();
  free_all();
  clear_fault();
  reset_devices(count, memory_bytes);
}

}  // namespace afore::shim

cudaError_t cudaDeviceSynchronize() {
  Lock lock = take_lock();
  if (const cudaError_t error = refusal()) return report(error);
  return report(finish_device(lock, current_device()));
}
cudaError_t cudaDeviceReset() {
  const Lock lock = take_lock();
  drop_operations();
  clear_fault();
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) { return cudaStreamCreateWithFlags(stream, cudaStreamDefault); }
cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const Lock lock = take_lock();
  if (const cudaError_t error = refusal()) return report(error);
  if (flags > cudaStreamNonBlocking) return report(cudaErrorInvalidValue);
  *stream = add_stream(current_device());
  return cudaSuccess;
}
cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
  *least = 0;
  *greatest = -5;  // as on sm_90
  return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t handle) {
  return with_stream(handle, [&](Lock&, const std::shared_ptr<CUstream_st>& stream) {
    if (stream == nullptr) return cudaErrorInvalidResourceHandle;
    remove_stream(handle);
    return cudaSuccess;
  });
}
cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  return with_stream(handle, [](Lock& lock, const std::shared_ptr<CUstream_st>& stream) {
    return stream == nullptr ? cudaSuccess : finish(lock, stream);
  });
}
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  return with_stream(handle, [](Lock& lock, const std::shared_ptr<CUstream_st>& stream) {
    if (stream == nullptr) return cudaSuccess;
    run_some(lock);
    if (faulted()) return cudaErrorLaunchFailure;
    return stream->finished < stream->queued ? cudaErrorNotReady : cudaSuccess;
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t handle, cudaHostFn_t function, void* argument) {
  return with_stream(handle, [&](Lock& lock, const std::shared_ptr<CUstream_st>& stream) {
    if (stream != nullptr) {
      enqueue(lock, *stream, {.run = [=] { function(argument); }, .host_function = true});
      return cudaSuccess;
    }
    lock.unlock();
    const InHostFunction here;
    function(argument);
    return cudaSuccess;
  });
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }
cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const Lock lock = take_lock();
  if (const cudaError_t error = refusal()) return report(error);
  if ((flags & ~(cudaEventBlockingSync | cudaEventDisableTiming)) != 0) return report(cudaErrorInvalidValue);
  *event = add_event(current_device(), (flags & cudaEventDisableTiming) == 0);
  return cudaSuccess;
}
cudaError_t cudaEventDestroy(cudaEvent_t handle) {
  return with_event(handle, [&](Lock&, const std::shared_ptr<CUevent_st>&) {
    remove_event(handle);
    return cudaSuccess;
  });
}
cudaError_t cudaEventRecord(cudaEvent_t handle, cudaStream_t stream_handle) {
  return with_event(handle, [&](Lock& lock, const std::shared_ptr<CUevent_st>& event) {
    const std::shared_ptr<CUstream_st> stream = stream_handle == nullptr ? nullptr : find_stream(stream_handle);
    const int device = stream == nullptr ? current_device() : stream->device;
    if ((stream_handle != nullptr && stream == nullptr) || device != event->device)
      return cudaErrorInvalidResourceHandle;
    event->last = std::make_shared<Record>();
    if (stream == nullptr) *event->last = {true, std::chrono::steady_clock::now()};
    else enqueue(lock, *stream, {.marks = event->last});
    return cudaSuccess;
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event_handle, unsigned) {
  return with_stream(handle, [&](Lock& lock, const std::shared_ptr<CUstream_st>& stream) {
    const std::shared_ptr<CUevent_st> event = find_event(event_handle);
    if (event == nullptr) return cudaErrorInvalidResourceHandle;
    if (done(*event)) return cudaSuccess;
    // What comes on the null stream runs at its call, so the wait is here.
    if (stream == nullptr) return run_until(lock, [last = event->last] { return last->done; });
    enqueue(lock, *stream, {.waits = event->last});
    return cudaSuccess;
  });
}
cudaError_t cudaEventQuery(cudaEvent_t handle) {
  return with_event(handle, [](Lock& lock, const std::shared_ptr<CUevent_st>& event) {
    if (done(*event)) return cudaSuccess;
    const std::shared_ptr<Record> last = event->last;
    run_some(lock);
    if (faulted()) return cudaErrorLaunchFailure;
    return last->done ? cudaSuccess : cudaErrorNotReady;
  });
}
cudaError_t cudaEventSynchronize(cudaEvent_t handle) {
  return with_event(handle, [](Lock& lock, const std::shared_ptr<CUevent_st>& event) {
    if (done(*event)) return cudaSuccess;
    return run_until(lock, [last = event->last] { return last->done; });
  });
}
cudaError_t cudaEventElapsedTime(float* ms, cudaEvent_t begin_handle, cudaEvent_t end_handle) {
  return with_event(begin_handle, [&](Lock&, const std::shared_ptr<CUevent_st>& begin) {
    const std::shared_ptr<CUevent_st> end = find_event(end_handle);
    if (end == nullptr || !begin->timed || !end->timed || begin->last == nullptr || end->last == nullptr)
      return cudaErrorInvalidResourceHandle;
    if (!begin->last->done || !end->last->done) return cudaErrorNotReady;
    *ms = std::chrono::duration<float, std::milli>(end->last->at - begin->last->at).count();
    return cudaSuccess;
  });
}
