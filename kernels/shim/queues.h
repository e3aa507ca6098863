#pragma once
// What streams hold, and the running of it. Callers hold the lock; run_until lets it go while a host function runs.
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>

#include "kernels/shim/lock.h"
#include "kernels/shim/runtime_api.h"

namespace afore::shim {

// One recording of an event.
struct Record {
  bool done = false;
  std::chrono::steady_clock::time_point at;
};

struct Operation {
  std::function<void()> run = nullptr;      // null where the two below say all
  std::shared_ptr<Record> waits = nullptr;  // it may begin only when this is done
  std::shared_ptr<Record> marks = nullptr;  // done with it
  bool host_function = false;               // run without the lock
  std::uint64_t number = 0;                 // of all operations, in order of their calls
};

}  // namespace afore::shim

struct CUgreenCtx_st;
struct CUstream_st {
  int device = 0;
  unsigned first_sm = 0, sms = 0;    // that its kernels run on
  CUgreenCtx_st* context = nullptr;  // that has it; null: the device's own
  std::deque<afore::shim::Operation> operations;
  std::uint64_t queued = 0, finished = 0;
  bool running = false;    // its first operation, in some thread
  bool destroyed = false;  // goes when it is empty
};
struct CUevent_st {
  int device = 0;
  bool timed = false;
  std::shared_ptr<afore::shim::Record> last;  // null before the first recording
};

namespace afore::shim {

// On all SMs of the device.
cudaStream_t add_stream(int device);
cudaEvent_t add_event(int device, bool timed);
// Null when the handle is not one.
std::shared_ptr<CUstream_st> find_stream(cudaStream_t stream);
std::shared_ptr<CUevent_st> find_event(cudaEvent_t event);
void remove_stream(cudaStream_t stream);
void remove_event(cudaEvent_t event);

void enqueue(Lock& lock, CUstream_st& stream, Operation operation);
// Runs what may run until `done` or a fault, which it returns.
cudaError_t run_until(Lock& lock, const std::function<bool()>& done);
// Until all that the stream, or the device, holds now is done.
cudaError_t finish(Lock& lock, const std::shared_ptr<CUstream_st>& stream);
cudaError_t finish_device(Lock& lock, int device);
// Of what no operation marks: from here on it is done.
void finish_record(Record& record);
// An operation or two, of any stream, or none.
void run_some(Lock& lock);

bool has_streams(const CUgreenCtx_st* context);

void drop_operations();
void drop_all();  // streams and events too

}  // namespace afore::shim
