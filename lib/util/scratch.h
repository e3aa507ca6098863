#pragma once
// Memory that a function keeps from call to call, one per thread. Not a thread_local object: registering its destructor
// is the one allocation whose failure the C library answers with an abort, where ours end with a message.
#include <atomic>

namespace afore {

// `Place` tells the uses apart: scratch<std::vector<int>, struct MyLoads>(). Default-made at a thread's first call,
// then as the last call left it. It lives as long as the process, also when its thread ends.
template <class T, class Place>
T& scratch() {
  struct Kept {
    T value{};
    Kept* next = nullptr;
  };
  static constinit std::atomic<Kept*> all{nullptr};  // so that none is lost with its thread
  thread_local Kept* kept = nullptr;
  if (kept == nullptr) {
    kept = new Kept();
    kept->next = all.load(std::memory_order_relaxed);
    while (!all.compare_exchange_weak(kept->next, kept, std::memory_order_release, std::memory_order_relaxed)) {
    }
  }
  return kept->value;
}

}  // namespace afore
