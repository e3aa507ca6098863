// Preloaded into a tool under test (LD_PRELOAD), makes one kind of call fail: AFORE_FAULT=KIND:N[:HOW][:always]
//   malloc  the Nth allocation: malloc and its like return null, operator new throws
//   read    the Nth read(2) fails with EIO          write  the Nth write(2) fails with ENOSPC
//   fsync   the Nth fsync or fdatasync fails with EIO
// Calls count from the begin of main() to its end; writes to standard error neither count nor fail. `always` fails all
// later calls too. HOW: eio, enospc, eintr, eagain; `byte` carries one byte; `short`, for write, half of them, and with
// `always` the later ones fail, as on a disk that gets full.
// AFORE_FAULT_COUNT=FILE: at the end of main(), how many calls of each kind there were.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

constexpr const char* kKinds[] = {"malloc", "read", "write", "fsync"};
enum Kind { kMalloc, kRead, kWrite, kFsync, kKindCount };

// Parsed at the begin of main(), before anything counts.
struct Fault {
  int kind = -1;
  long at = 0;
  bool always = false, by_byte = false, shortened = false;
  int error = EIO;
};

std::atomic<bool> g_counting{false};
std::atomic<long> g_calls[kKindCount];
Fault g_fault;

bool has_word(const char* text, const char* word) {
  const std::size_t size = std::strlen(word);
  for (const char* at = std::strchr(text, ':'); at != nullptr; at = std::strchr(at + 1, ':'))
    if (std::strncmp(at + 1, word, size) == 0 && (at[1 + size] == ':' || at[1 + size] == '\0')) return true;
  return false;
}

void parse(const char* text) {
  for (int kind = 0; kind < kKindCount; ++kind) {
    const std::size_t size = std::strlen(kKinds[kind]);
    if (std::strncmp(text, kKinds[kind], size) == 0 && text[size] == ':') g_fault.kind = kind;
  }
  if (g_fault.kind < 0) {
    std::fprintf(stderr, "AFORE_FAULT=%s: no such kind\n", text);
    _exit(125);
  }
  g_fault.at = std::strtol(std::strchr(text, ':') + 1, nullptr, 10);
  g_fault.always = has_word(text, "always");
  g_fault.by_byte = has_word(text, "byte");
  g_fault.shortened = has_word(text, "short");
  g_fault.error = has_word(text, "eintr")                                                          ? EINTR
                  : has_word(text, "eagain")                                                       ? EAGAIN
                  : has_word(text, "enospc") || (g_fault.kind == kWrite && !has_word(text, "eio")) ? ENOSPC
                                                                                                   : EIO;
}

// 0: the call is a normal one; 1: it is the Nth; 2: a later one, and all of them fail.
int due(Kind kind) {
  if (!g_counting.load(std::memory_order_relaxed)) return 0;
  const long call = g_calls[kind].fetch_add(1) + 1;
  if (kind != g_fault.kind) return 0;
  return call == g_fault.at ? 1 : call > g_fault.at && g_fault.always ? 2 : 0;
}

template <class Result>
Result failed(int error, Result result) {
  errno = error;
  return result;
}

void write_counts(const char* path) {
  char text[128];
  const int size =
      std::snprintf(text, sizeof text, "malloc %ld read %ld write %ld fsync %ld\n", g_calls[kMalloc].load(),
                    g_calls[kRead].load(), g_calls[kWrite].load(), g_calls[kFsync].load());
  const int file = ::open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  ::syscall(SYS_write, file, text, static_cast<std::size_t>(size));
  ::close(file);
}

using Main = int (*)(int, char**, char**);
Main g_main = nullptr;

int counted_main(int argc, char** argv, char** environment) {
  if (const char* fault = std::getenv("AFORE_FAULT")) parse(fault);
  const char* count_file = std::getenv("AFORE_FAULT_COUNT");
  g_counting = true;
  const int code = g_main(argc, argv, environment);
  g_counting = false;
  if (count_file != nullptr) write_counts(count_file);
  return code;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(::dlsym(RTLD_NEXT, name));
}

}  // namespace

extern "C" {

// Static initialisers allocate before main(), where no program can say what is wrong.
int __libc_start_main(Main main, int argc, char** argv, void (*init)(), void (*fini)(), void (*rtld_fini)(),
                      void* stack_end) {
  g_main = main;
  const auto real = next<int (*)(Main, int, char**, void (*)(), void (*)(), void (*)(), void*)>("__libc_start_main");
  return real(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}

#ifndef AFORE_FAULT_NEW
void* malloc(std::size_t size) { return due(kMalloc) ? failed<void*>(ENOMEM, nullptr) : __libc_malloc(size); }

void* calloc(std::size_t count, std::size_t size) {
  return due(kMalloc) ? failed<void*>(ENOMEM, nullptr) : __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) {
  return due(kMalloc) ? failed<void*>(ENOMEM, nullptr) : __libc_realloc(old, size);
}

void* memalign(std::size_t alignment, std::size_t size) {
  return due(kMalloc) ? failed<void*>(ENOMEM, nullptr) : __libc_memalign(alignment, size);
}

void* aligned_alloc(std::size_t alignment, std::size_t size) { return memalign(alignment, size); }

int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  void* got = memalign(alignment, size);
  if (got != nullptr) *out = got;
  return got != nullptr ? 0 : ENOMEM;
}
#else
// Under asan malloc is the sanitizer's own; there operator new fails, which is how C++ allocates.
void* checked_new(const char* symbol, std::size_t size) {
  if (due(kMalloc)) reinterpret_cast<void (*)()>(::dlsym(RTLD_DEFAULT, "_ZSt17__throw_bad_allocv"))();
  return next<void* (*)(std::size_t)>(symbol)(size);
}
void* _Znwm(std::size_t size) { return checked_new("_Znwm", size); }
void* _Znam(std::size_t size) { return checked_new("_Znam", size); }
#endif

ssize_t read(int descriptor, void* bytes, std::size_t size) {
  if (due(kRead)) {
    if (!g_fault.by_byte) return failed<ssize_t>(g_fault.error, -1);
    size = size > 1 ? 1 : size;
  }
  return ::syscall(SYS_read, descriptor, bytes, size);
}

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  if (descriptor != STDERR_FILENO) {
    const int which = due(kWrite);
    if (which != 0 && g_fault.by_byte) size = size > 1 ? 1 : size;
    else if (which == 1 && g_fault.shortened && size > 1) size /= 2;
    else if (which != 0) return failed<ssize_t>(g_fault.error, -1);
  }
  return ::syscall(SYS_write, descriptor, bytes, size);
}

int fsync(int descriptor) {
  return due(kFsync) ? failed(g_fault.error, -1) : static_cast<int>(::syscall(SYS_fsync, descriptor));
}

int fdatasync(int descriptor) {
  return due(kFsync) ? failed(g_fault.error, -1) : static_cast<int>(::syscall(SYS_fdatasync, descriptor));
}

}  // extern "C"
