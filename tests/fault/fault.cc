// Preloaded into a tool under test (LD_PRELOAD), makes one kind of call fail: AFORE_FAULT=KIND:N[:short][:always]
//   malloc  the Nth of malloc, calloc, realloc returns null        read   the Nth read(2) fails with EIO
//   write   the Nth write(2) fails with ENOSPC                     fsync  the Nth fsync or fdatasync fails with EIO
// `always` fails all later calls too. `short`, for write: the Nth writes half of its bytes, and with `always` the later
// ones fail, as on a disk that gets full.
#include <dlfcn.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
}

namespace {

std::atomic<long> g_calls{0};

// Parsed anew at each call: nothing here may allocate or be initialised late.
bool fails(const char* kind, long& call, long& at, const char*& options) {
  const char* fault = std::getenv("AFORE_FAULT");
  const std::size_t size = std::strlen(kind);
  if (fault == nullptr || std::strncmp(fault, kind, size) != 0 || fault[size] != ':') return false;
  at = std::strtol(fault + size + 1, nullptr, 10);
  options = fault;
  call = ++g_calls;
  return call == at || (call > at && std::strstr(fault, ":always") != nullptr);
}

bool fails(const char* kind) {
  long call = 0, at = 0;
  const char* options = nullptr;
  return fails(kind, call, at, options);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

int fail(int error) {
  errno = error;
  return -1;
}

}  // namespace

extern "C" {

void* malloc(std::size_t size) { return fails("malloc") ? (fail(ENOMEM), nullptr) : __libc_malloc(size); }

void* calloc(std::size_t count, std::size_t size) {
  return fails("malloc") ? (fail(ENOMEM), nullptr) : __libc_calloc(count, size);
}

void* realloc(void* old, std::size_t size) {
  return fails("malloc") ? (fail(ENOMEM), nullptr) : __libc_realloc(old, size);
}

ssize_t read(int descriptor, void* bytes, std::size_t size) {
  static const auto real = next<ssize_t (*)(int, void*, std::size_t)>("read");
  return fails("read") ? fail(EIO) : real(descriptor, bytes, size);
}

ssize_t write(int descriptor, const void* bytes, std::size_t size) {
  static const auto real = next<ssize_t (*)(int, const void*, std::size_t)>("write");
  long call = 0, at = 0;
  const char* options = nullptr;
  if (!fails("write", call, at, options)) return real(descriptor, bytes, size);
  if (call == at && size > 1 && std::strstr(options, ":short") != nullptr) return real(descriptor, bytes, size / 2);
  return fail(ENOSPC);
}

int fsync(int descriptor) {
  static const auto real = next<int (*)(int)>("fsync");
  return fails("fsync") ? fail(EIO) : real(descriptor);
}

int fdatasync(int descriptor) {
  static const auto real = next<int (*)(int)>("fdatasync");
  return fails("fsync") ? fail(EIO) : real(descriptor);
}

}  // extern "C"
