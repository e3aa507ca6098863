#include "predict/layers_at_once.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace afore::predict {

void layers_at_once(int layers, int threads, const std::function<void(int)>& work) {
  std::atomic<int> next = layers;  // from the last on, whose networks are the largest
  std::mutex mutex;
  std::exception_ptr failure;
  const auto run = [&] {
    for (int left = next--; left > 0; left = next--) {
      try {
        work(left - 1);
      } catch (...) {
        const std::lock_guard lock(mutex);
        if (!failure) failure = std::current_exception();
        next = 0;
        return;
      }
    }
  };
  {
    std::vector<std::jthread> others;
    for (int i = 1; i < std::min(threads, layers); ++i) others.emplace_back(run);
    run();
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace afore::predict
