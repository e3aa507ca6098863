#include "kernels/shim/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <new>
#include <stdexcept>

#if defined(AFORE_SHIM_ASAN)
#include <sanitizer/common_interface_defs.h>
#endif

namespace afore::shim {
namespace {

// Frames under the address sanitizer have guards around each array. Pages that nobody touches cost nothing.
#if defined(AFORE_SHIM_ASAN)
constexpr std::size_t kStackBytes = 256 << 10;
#else
constexpr std::size_t kStackBytes = 64 << 10;
#endif

// Who resumed the fiber that runs.
struct Host {
#if defined(AFORE_SHIM_UCONTEXT)
  ucontext_t context;
#else
  void* stack_pointer = nullptr;
#endif
  void* fake_stack = nullptr;
  const void* bottom = nullptr;
  std::size_t bytes = 0;
};
Host host;
Fiber* running = nullptr;

#if defined(AFORE_SHIM_ASAN)
void before_switch(void** fake_stack, const void* bottom, std::size_t bytes) {
  __sanitizer_start_switch_fiber(fake_stack, bottom, bytes);
}
void after_switch(void* fake_stack, const void** old_bottom, std::size_t* old_bytes) {
  __sanitizer_finish_switch_fiber(fake_stack, old_bottom, old_bytes);
}
#else
void before_switch(void**, const void*, std::size_t) {}
void after_switch(void*, const void**, std::size_t*) {}
#endif

std::size_t page_bytes() {
  static const std::size_t bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

#if !defined(AFORE_SHIM_UCONTEXT)
// Keeps what the System V ABI says a callee keeps (but the floating-point control words, which kernels leave alone),
// stores the stack pointer in *from and goes on where `to` was stored. By a jump: what `ret` would have the processor
// expect is another stack's.
extern "C" void afore_shim_switch(void** from, void* to);
asm(R"(
  .text
  .p2align 4
  .globl afore_shim_switch
  .hidden afore_shim_switch
  .type afore_shim_switch, @function
afore_shim_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  popq %rcx
  jmpq *%rcx
  .size afore_shim_switch, . - afore_shim_switch
)");
#endif

Fiber::Fiber() {
#if defined(AFORE_SHIM_TSAN)
  throw std::runtime_error("kernels do not run under the thread sanitizer, which loses its way between fibers");
#endif
  const std::size_t bytes = page_bytes() + kStackBytes;
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  mapping_ = static_cast<std::byte*>(memory);
  mprotect(mapping_, page_bytes(), PROT_NONE);
  // Stacks lie a multiple of the page apart. Were their tops so too, the lines in use would share a few cache sets.
  static std::size_t made = 0;
  top_ = mapping_ + bytes - made++ % 64 * 256;
}

Fiber::~Fiber() { munmap(mapping_, page_bytes() + kStackBytes); }

void Fiber::start(void (*body)(void*), void* argument) {
  body_ = body;
  argument_ = argument;
  ended_ = false;
  fake_stack_ = nullptr;
#if defined(AFORE_SHIM_UCONTEXT)
  getcontext(&context_);
  context_.uc_stack.ss_sp = mapping_ + page_bytes();
  context_.uc_stack.ss_size = static_cast<std::size_t>(top_ - mapping_) - page_bytes();
  context_.uc_link = nullptr;
  makecontext(&context_, &Fiber::enter, 0);
#else
  // What afore_shim_switch pops: six registers, then enter's address. Above it stands a return address of none, where
  // a caller would have left one: the ABI wants 8 more than a multiple of 16 at a function's first instruction.
  auto* slot = reinterpret_cast<std::uintptr_t*>(top_);
  *--slot = 0;
  *--slot = reinterpret_cast<std::uintptr_t>(&Fiber::enter);
  for (int i = 0; i < 6; ++i) *--slot = 0;
  stack_pointer_ = slot;
#endif
}

void Fiber::resume() {
  running = this;
  const std::byte* bottom = mapping_ + page_bytes();
  before_switch(&host.fake_stack, bottom, static_cast<std::size_t>(top_ - bottom));
#if defined(AFORE_SHIM_UCONTEXT)
  swapcontext(&host.context, &context_);
#else
  afore_shim_switch(&host.stack_pointer, stack_pointer_);
#endif
  after_switch(host.fake_stack, nullptr, nullptr);
  running = nullptr;
}

void Fiber::pause() { running->leave(); }

void Fiber::leave() {
  before_switch(ended_ ? nullptr : &fake_stack_, host.bottom, host.bytes);
#if defined(AFORE_SHIM_UCONTEXT)
  swapcontext(&context_, &host.context);
#else
  afore_shim_switch(&stack_pointer_, host.stack_pointer);
#endif
  after_switch(fake_stack_, &host.bottom, &host.bytes);
}

void Fiber::enter() {
  after_switch(nullptr, &host.bottom, &host.bytes);
  Fiber* const self = running;
  self->body_(self->argument_);
  self->ended_ = true;
  self->leave();
  std::abort();  // an ended fiber is not resumed
}

}  // namespace afore::shim
