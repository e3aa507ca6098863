#pragma once
// A run with a thread beside it that looks at the engine, and ends the run when it has seen enough.
#include <pthread.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <thread>

#include "real_model.h"
#include "util/error.h"
#include "util/stop_flag.h"

namespace afore::host {

inline StopFlag watched_signal{0};

struct Watched {
  bool seen = false, interrupted = false;
  std::string error{};
  Nanos ended_after_ns = 0;  // from the signal
};

// `enough` is asked every ms, and 20 s at most.
inline Watched serve_watched(ThreadRunner& runner, const ModelRun& run, const std::function<bool()>& enough) {
  std::signal(SIGUSR1, [](int number) { watched_signal = number; });
  watched_signal = 0;
  Watched result;
  Nanos signalled_ns = 0;
  const pthread_t serving = pthread_self();
  std::thread beside([&] {
    while (!result.seen && runner.now() < 20'000'000'000) {
      result.seen = enough();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    signalled_ns = runner.now();
    pthread_kill(serving, SIGUSR1);
  });
  Watch watch;
  watch.stop = &watched_signal;
  try {
    result.interrupted = on_workers(runner, run, watch).interrupted;
  } catch (const Error& error) {
    result.error = error.what();
  }
  const Nanos ended_ns = runner.now();
  beside.join();
  result.ended_after_ns = ended_ns - signalled_ns;
  return result;
}

}  // namespace afore::host
