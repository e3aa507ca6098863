#pragma once
// A fiber: a stack of its own that runs until it pauses. A CUDA thread is one. On x86-64 a switch is a dozen
// instructions, elsewhere ucontext's. The address sanitizer is told of every switch; the thread sanitizer cannot follow
// them, so none is made under it. Fibers run one at a time in the whole process: their users hold one lock.
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define AFORE_SHIM_ASAN 1
#elif defined(__SANITIZE_THREAD__)
#define AFORE_SHIM_TSAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define AFORE_SHIM_ASAN 1
#elif __has_feature(thread_sanitizer)
#define AFORE_SHIM_TSAN 1
#endif
#endif
#if !defined(__x86_64__)
#define AFORE_SHIM_UCONTEXT 1
#endif
#if defined(AFORE_SHIM_UCONTEXT)
#include <ucontext.h>
#endif

namespace afore::shim {

class Fiber {
 public:
  Fiber();  // maps the stack, with a page below it that faults
  ~Fiber();
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  // The next resume() begins `body` (argument), which must not throw.
  void start(void (*body)(void*), void* argument);
  // Runs it until it pauses or its body returns.
  void resume();
  // Of the fiber that runs: back to its resume().
  static void pause();

 private:
  static void enter();
  void leave();

  std::byte* mapping_ = nullptr;
  std::byte* top_ = nullptr;
  void (*body_)(void*) = nullptr;
  void* argument_ = nullptr;
  bool ended_ = false;
#if defined(AFORE_SHIM_UCONTEXT)
  ucontext_t context_;
#else
  void* stack_pointer_ = nullptr;
#endif
  void* fake_stack_ = nullptr;  // the address sanitizer's, while it is paused
};

}  // namespace afore::shim
