#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "device/cuda/rendezvous_roster.h"
#include "device/cuda/rendezvous_tcp.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

constexpr std::chrono::milliseconds kFirstPause{5}, kLongestPause{200};

class Client {
 public:
  Client(const RendezvousConfig& config, Deadline deadline, const std::string& host, int port,
         std::span<std::byte> blob)
      : config_(config),
        deadline_(deadline),
        host_(host),
        port_(port),
        place_(host_and_port(host, port)),
        blob_(blob),
        nonce_(fresh_nonce()) {}

  void run() {
    std::string trouble = "no connection to " + place_;
    for (Clock::duration pause = kFirstPause; Clock::now() < deadline_;
         pause = std::min<Clock::duration>(2 * pause, kLongestPause)) {
      std::variant<Descriptor, std::string> tried = try_connect(host_, port_, deadline_);
      if (const auto* socket = std::get_if<Descriptor>(&tried)) {
        if (talk(socket->get())) return;
        trouble = place_ + " closed the connection";
      } else {
        trouble = std::get<std::string>(tried);
      }
      poll_until({}, std::min(deadline_, Clock::now() + pause));
    }
    throw Error(ErrorKind::io, fmt::format("rank 0 did not come within {} ({})", seconds(config_.timeout), trouble));
  }

 private:
  // False: rank 0 was lost before it had answered, which another try may mend.
  bool talk(int socket) {
    FrameReader reader;
    std::string out = encode(Frame{FrameKind::greeting, encode(greeting_of(config_, deadline_, blob_.size(), nonce_))});
    const std::optional<Frame> answer = hear(socket, reader, out);
    if (!answer) return false;
    if (answer->kind != FrameKind::blob || answer->payload.size() != blob_.size()) not_ours();
    out = encode(Frame{FrameKind::received, ""});
    const std::optional<Frame> verdict = hear(socket, reader, out);
    if (!verdict)
      throw Error(ErrorKind::io, fmt::format("rank 0 ({}) closed the connection before all ranks had come", place_));
    if (verdict->kind != FrameKind::complete) not_ours();
    std::memcpy(blob_.data(), answer->payload.data(), blob_.size());
    return true;
  }

  // Sends `out` and waits for a frame; nothing: the connection is lost. Throws what rank 0 says has failed.
  std::optional<Frame> hear(int socket, FrameReader& reader, std::string& out) {
    for (;;) {
      if (std::optional<Frame> frame = reader.next()) {
        if (frame->kind == FrameKind::failed) throw Error(ErrorKind::io, printable(frame->payload));
        return frame;
      }
      if (reader.broken()) not_ours();
      // What rank 0 said before it closed the connection is still there to read, so a failed send is no end yet.
      const bool more = send_now(socket, out) == Transfer::pending;
      std::string bytes;
      const Transfer got = receive_now(socket, bytes);
      reader.feed(bytes);
      if (got == Transfer::lost) return std::nullopt;
      if (got == Transfer::done) continue;
      if (Clock::now() >= deadline_)
        throw Error(ErrorKind::io, fmt::format("{} took the connection, but said nothing more within {}", place_,
                                               seconds(config_.timeout)));
      pollfd entry{socket, static_cast<short>(more ? POLLIN | POLLOUT : POLLIN), 0};
      poll_until({&entry, 1}, deadline_);
    }
  }

  [[noreturn]] void not_ours() const {
    throw Error(ErrorKind::io, fmt::format("what listens at {} is not rank 0 of this version of afore", place_),
                "another program has the port: give the job another MASTER_PORT");
  }

  const RendezvousConfig& config_;
  const Deadline deadline_;
  const std::string& host_;
  const int port_;
  const std::string place_;
  const std::span<std::byte> blob_;
  const std::uint64_t nonce_;
};

}  // namespace

void join_rendezvous(const RendezvousConfig& config, Deadline deadline, const std::string& host, int port,
                     std::span<std::byte> blob) {
  Client(config, deadline, host, port, blob).run();
}

}  // namespace afore::device::cuda
