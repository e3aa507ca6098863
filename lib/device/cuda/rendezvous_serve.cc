#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <system_error>
#include <vector>

#include "device/cuda/rendezvous_roster.h"
#include "device/cuda/rendezvous_tcp.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

// Connections that have not said who they are, over those of the job itself. The oldest goes first: a rank that is cut
// off by mistake comes again.
constexpr std::size_t kMaxStrangers = 64;
constexpr std::chrono::seconds kFarewell{1};  // to send the verdict to those who read slowly

class Server {
 public:
  Server(const RendezvousConfig& config, Deadline deadline, Listener& listener, std::span<const std::byte> blob)
      : config_(config),
        deadline_(deadline),
        listener_(listener),
        blob_(reinterpret_cast<const char*>(blob.data()), blob.size()),
        roster_(config, deadline, blob.size()) {}

  void run() {
    try {
      while (!roster_.complete()) {
        if (Clock::now() >= roster_.deadline()) throw Error(ErrorKind::io, roster_.missing());
        wait();
        accept_all();
        for (Peer& peer : peers_) serve(peer);
        drop_gone();
      }
    } catch (const Error& error) {
      say_to_all({FrameKind::failed, error.what()});
      throw;
    }
    say_to_all({FrameKind::complete, ""});
  }

 private:
  struct Peer {
    Descriptor socket;
    Deadline greeting_deadline;
    FrameReader reader{};
    std::string out{};
    bool greeted = false;  // of this job: it hears the verdict
    bool refused = false;  // is gone when it has been told why
    bool gone = false;
    int rank = -1;  // counted in the roster under this rank
  };

  bool on_time(const Peer& peer) const { return peer.greeted || Clock::now() < peer.greeting_deadline; }

  void wait() {
    Deadline until = roster_.deadline();
    std::vector<pollfd> entries = {{listener_.descriptor(), POLLIN, 0}};
    for (const Peer& peer : peers_) {
      entries.push_back({peer.socket.get(), static_cast<short>(peer.out.empty() ? POLLIN : POLLIN | POLLOUT), 0});
      if (!peer.greeted) until = std::min(until, peer.greeting_deadline);
    }
    poll_until(entries, until);
  }

  void accept_all() {
    for (std::size_t i = 0; i < kMaxStrangers; ++i) {  // whoever floods the port does not keep us from the others
      std::optional<Descriptor> socket = accept_one();
      if (!socket) continue;
      if (!*socket) return;
      peers_.push_back({.socket = std::move(*socket), .greeting_deadline = Clock::now() + config_.greeting_timeout});
      const auto strangers =
          std::count_if(peers_.begin(), peers_.end(), [](const Peer& peer) { return !peer.greeted; });
      if (static_cast<std::size_t>(strangers) > kMaxStrangers + static_cast<std::size_t>(config_.world_size))
        drop_oldest_stranger();
    }
  }

  // Nothing: room was made, try again.
  std::optional<Descriptor> accept_one() {
    try {
      return listener_.accept();
    } catch (const std::system_error& error) {
      if (drop_oldest_stranger()) return std::nullopt;
      throw Error(ErrorKind::io, fmt::format("cannot take more connections of ranks: {}", error.code().message()));
    }
  }

  bool drop_oldest_stranger() {
    const auto oldest = std::find_if(peers_.begin(), peers_.end(), [](const Peer& peer) { return !peer.greeted; });
    if (oldest == peers_.end()) return false;
    peers_.erase(oldest);
    return true;
  }

  void serve(Peer& peer) {
    if (peer.gone) return;
    std::string bytes;
    const Transfer got = receive_now(peer.socket.get(), bytes);
    peer.reader.feed(bytes);
    while (std::optional<Frame> frame = peer.reader.next()) hear(peer, *frame);
    if (got == Transfer::lost || peer.reader.broken() || !on_time(peer)) peer.gone = true;
    if (peer.gone) return leave(peer);
    const Transfer sent = send_now(peer.socket.get(), peer.out);
    if (sent == Transfer::lost || (sent == Transfer::done && peer.refused)) {
      peer.gone = true;
      leave(peer);
    }
  }

  void leave(Peer& peer) {
    if (peer.rank >= 0) roster_.left(peer.rank);
    peer.rank = -1;
  }

  void hear(Peer& peer, const Frame& frame) {
    if (peer.rank >= 0 && frame.kind == FrameKind::received) return roster_.received(peer.rank);
    const std::optional<Greeting> greeting =
        frame.kind == FrameKind::greeting ? decode_greeting(frame.payload) : std::nullopt;
    if (!greeting || peer.greeted || peer.refused) {
      peer.gone = true;
      return;
    }
    if (const std::optional<std::string> why = roster_.stranger(*greeting)) {
      peer.refused = true;
      peer.out += encode(Frame{FrameKind::failed, *why});
      return;
    }
    peer.greeted = true;
    roster_.check_fits(*greeting);
    welcome(peer, *greeting);
  }

  void welcome(Peer& peer, const Greeting& greeting) {
    const int rank = static_cast<int>(greeting.rank);
    for (Peer& other : peers_)
      if (other.rank == rank) {  // the same call, over a connection that broke on its side only
        other.rank = -1;
        other.gone = true;
      }
    peer.rank = rank;
    roster_.arrived(greeting);
    peer.out += encode(Frame{FrameKind::blob, blob_});
  }

  void drop_gone() {
    std::erase_if(peers_, [](const Peer& peer) { return peer.gone; });
  }

  void say_to_all(const Frame& verdict) {
    std::erase_if(peers_, [](const Peer& peer) { return peer.gone || !peer.greeted; });
    for (Peer& peer : peers_) peer.out += encode(verdict);
    const Deadline until = std::min(deadline_, Clock::now() + kFarewell);
    for (;;) {
      std::erase_if(peers_, [](Peer& peer) { return send_now(peer.socket.get(), peer.out) != Transfer::pending; });
      if (peers_.empty() || Clock::now() >= until) return;
      std::vector<pollfd> entries;
      for (const Peer& peer : peers_) entries.push_back({peer.socket.get(), POLLOUT, 0});
      poll_until(entries, until);
    }
  }

  const RendezvousConfig& config_;
  const Deadline deadline_;
  Listener& listener_;
  const std::string blob_;
  Roster roster_;
  std::vector<Peer> peers_;  // in the order they came
};

}  // namespace

void serve_rendezvous(const RendezvousConfig& config, Deadline deadline, Listener& listener,
                      std::span<const std::byte> blob) {
  Server(config, deadline, listener, blob).run();
}

}  // namespace afore::device::cuda
