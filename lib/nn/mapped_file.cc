#include "nn/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "util/error.h"

namespace afore::nn {

MappedFile::MappedFile(const std::filesystem::path& path) : name_(path.string()) {
  // O_NONBLOCK: a named pipe must be refused, not waited for.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) throw Error(ErrorKind::io, "cannot open " + name_ + ": " + std::strerror(errno));
  struct stat facts {};
  int error = ::fstat(descriptor, &facts) != 0 ? errno : 0;
  const bool regular = error == 0 && S_ISREG(facts.st_mode);
  if (regular && facts.st_size > 0) {  // an empty range cannot be mapped
    void* const at = ::mmap(nullptr, static_cast<std::size_t>(facts.st_size), PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (at == MAP_FAILED) error = errno;
    else data_ = static_cast<const std::byte*>(at), size_ = static_cast<std::size_t>(facts.st_size);
  }
  ::close(descriptor);
  if (error != 0) throw Error(ErrorKind::io, "cannot map " + name_ + ": " + std::strerror(error));
  if (!regular) throw Error(ErrorKind::io, "cannot map " + name_ + ": not a regular file");
}

MappedFile::~MappedFile() {
  if (size_ > 0) ::munmap(const_cast<std::byte*>(data_), size_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : name_(std::move(other.name_)), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(name_, other.name_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

}  // namespace afore::nn
