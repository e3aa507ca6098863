#pragma once
// Lets threads through in the order of the numbers they bring: 0, 1, 2, ... Each number passes once. When one does not
// get through, no later one ever will: the turnstile breaks, and says why to everyone who waits or comes.
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>

#include "device/cuda/sockets.h"

namespace afore::device::cuda {

class Turnstile {
 public:
  // Returns when every number before `number` has passed. Error{io} where it is, or gets, broken; the deadline breaks
  // it. A number that came before is a bug of the caller.
  void enter(std::uint64_t number, Deadline deadline);
  void leave();                            // the number that entered has passed
  void break_off(const std::string& why);  // the first reason stays
  std::string broken() const;              // why; empty: it is not

 private:
  mutable std::mutex mutex_;
  std::condition_variable moved_;
  std::uint64_t next_ = 0;
  bool inside_ = false;
  std::string broken_;
};

}  // namespace afore::device::cuda
