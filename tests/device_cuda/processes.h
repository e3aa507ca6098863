#pragma once
// Ranks as real processes, and what each of them says at the end.
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/cuda/rendezvous.h"
#include "util/error.h"

namespace afore::device::cuda {

using Blob = std::array<std::byte, 128>;

inline Blob sent_blob() {
  Blob blob;
  for (std::size_t i = 0; i < blob.size(); ++i) blob[i] = static_cast<std::byte>(i * 7 + 1);
  return blob;
}

// "ok", "wrong blob", or the text of the error. `exchange` gets rank 0's blob, or an empty one.
inline std::string outcome(int rank, const std::function<void(std::span<std::byte>)>& exchange) {
  Blob blob = rank == 0 ? sent_blob() : Blob{};
  try {
    exchange(blob);
  } catch (const Error& error) {
    return rank == 0 || blob == Blob{} ? error.what() : "the blob was written though the exchange failed";
  }
  return blob == sent_blob() ? "ok" : "wrong blob";
}

// A child process that runs `body`; what it returns is read by wait().
class Process {
 public:
  explicit Process(const std::function<std::string()>& body) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw Error(ErrorKind::io, "pipe");
    pid_ = ::fork();
    if (pid_ == 0) {
      const std::string text = body();
      [[maybe_unused]] const ssize_t written = ::write(ends[1], text.data(), text.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    end_ = ends[0];
  }
  Process(Process&& other) noexcept : pid_(std::exchange(other.pid_, -1)), end_(std::exchange(other.end_, -1)) {}
  ~Process() {
    if (pid_ > 0) wait();
  }
  std::string wait() {
    std::string text;
    std::array<char, 4096> chunk;
    for (ssize_t got; (got = ::read(end_, chunk.data(), chunk.size())) > 0;)
      text.append(chunk.data(), static_cast<std::size_t>(got));
    ::close(end_);
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return status == 0 ? text : "the process ended with status " + std::to_string(status);
  }

 private:
  pid_t pid_ = -1;
  int end_ = -1;
};

inline RendezvousConfig config_of(int rank, int world_size,
                                  std::chrono::milliseconds timeout = std::chrono::seconds(60)) {
  return {.rank = rank, .world_size = world_size, .job_token = "job 1", .timeout = timeout};
}

inline std::size_t open_descriptors() {
  std::size_t count = 0;
  for (int number = 0; number < 1024; ++number) count += ::fcntl(number, F_GETFD) >= 0;
  return count;
}

}  // namespace afore::device::cuda
