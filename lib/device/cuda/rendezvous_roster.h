#pragma once
// What rank 0 knows of the others, in either way of rendezvous.h: who came, who has the blob, and when to give up.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "device/cuda/rendezvous.h"
#include "device/cuda/rendezvous_frame.h"

namespace afore::device::cuda {

// Error{usage} for a config, or a blob, that no exchange can be made of.
void check(const RendezvousConfig& config, std::size_t blob_bytes);

// What of the time left a rank grants to rank 0, which must speak before that rank's own deadline. At rank 0 as well.
Clock::duration patience(const RendezvousConfig& config, Deadline deadline);
Greeting greeting_of(const RendezvousConfig& config, Deadline deadline, std::size_t blob_bytes, std::uint64_t nonce);
std::string seconds(std::chrono::milliseconds time);  // "30 s", "0.25 s"

class Roster {
 public:
  Roster(const RendezvousConfig& config, Deadline deadline, std::size_t blob_bytes);

  // Why somebody with this greeting is none of this job; nothing: it is one.
  std::optional<std::string> stranger(const Greeting& greeting) const;
  // Error{io} where one of this job was started unlike rank 0. Afterwards its rank is one of 1 to world size - 1.
  void check_fits(const Greeting& greeting) const;

  void arrived(const Greeting& greeting);
  void received(int rank) { states_[rank].received = true; }
  void left(int rank);
  bool has(int rank) const { return states_[rank].here; }
  std::uint64_t nonce(int rank) const { return states_[rank].nonce; }
  bool complete() const;
  Deadline deadline() const { return deadline_; }
  std::string missing() const;  // "ranks 2, 5 did not come within 30 s"

 private:
  struct State {
    bool here = false, received = false, came_once = false;
    std::uint64_t nonce = 0;
  };
  std::string list(bool came_once) const;

  RendezvousConfig config_;
  std::size_t blob_bytes_;
  Deadline deadline_;
  int hasty_ = 0;  // whose deadline that is, where it is much before rank 0's own
  std::vector<State> states_;
};

}  // namespace afore::device::cuda
