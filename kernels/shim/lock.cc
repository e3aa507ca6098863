#include "kernels/shim/lock.h"

namespace afore::shim {

Lock take_lock() {
  static std::mutex mutex;
  return Lock(mutex);
}

}  // namespace afore::shim
