#include "host/threads/start_thread.h"

#include <pthread.h>
#include <sys/prctl.h>

#include <system_error>

#include "util/error.h"

namespace afore::host {

std::thread start_thread(const std::string& name, std::function<void()> body) {
  try {
    return std::thread([name, body = std::move(body)] {
      pthread_setname_np(pthread_self(), name.c_str());
      prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0);
      body();
    });
  } catch (const std::system_error& failed) {
    throw Error(ErrorKind::io, "cannot start the thread of " + name + ": " + failed.what(),
                "fewer workers, or a higher limit (ulimit -u, ulimit -v)");
  }
}

}  // namespace afore::host
