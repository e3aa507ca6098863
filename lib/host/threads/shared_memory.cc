#include "host/threads/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "util/error.h"

namespace afore::host {
namespace {

[[noreturn]] void fail(const char* call, std::size_t bytes, int error) {
  throw Error(ErrorKind::io,
              "shared memory of " + std::to_string(bytes) + " bytes: " + call + ": " + std::strerror(error));
}

}  // namespace

SharedMemory::SharedMemory(const char* name, std::size_t bytes) {
  const int file = memfd_create(name, MFD_CLOEXEC);
  if (file < 0) fail("memfd_create", bytes, errno);
  // Taken now: a page that is missing later would be a signal.
  if (const int error = posix_fallocate(file, 0, static_cast<off_t>(bytes)); error != 0) {
    close(file);
    fail("posix_fallocate", bytes, error);
  }
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int error = errno;
  close(file);  // the mapping keeps the memory
  if (memory == MAP_FAILED) fail("mmap", bytes, error);
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

SharedMemory::~SharedMemory() {
  if (!bytes_.empty()) munmap(bytes_.data(), bytes_.size());
}

SharedMemory::SharedMemory(SharedMemory&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace afore::host
