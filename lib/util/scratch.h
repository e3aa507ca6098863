#pragma once
// Memory that a function keeps from call to call, one per thread. Not a thread_local object: registering its destructor
// is the one allocation whose failure the C library answers with an abort, where ours end with a message.

namespace afore {

// `Place` tells the uses apart: scratch<std::vector<int>, struct MyLoads>(). Default-made at a thread's first call,
// then as the last call left it. It lives as long as the process, also when its thread ends.
template <class T, class Place>
T& scratch() {
  thread_local T* kept = nullptr;
  if (kept == nullptr) kept = new T();
  return *kept;
}

}  // namespace afore
