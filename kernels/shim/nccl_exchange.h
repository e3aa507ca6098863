#pragma once
// The ranks of one NCCL id, and what they send each other. Callers hold the lock.
#include <cstddef>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/shim/nccl_api.h"
#include "kernels/shim/queues.h"

namespace afore::shim {

// One side's part of a message.
struct Half {
  void* at = nullptr;
  std::shared_ptr<Record> begun = nullptr;  // the kernel it is part of; null: nobody asked for it yet
  std::shared_ptr<Record> done = std::make_shared<Record>();
  std::size_t bytes = 0;
};
struct Message {
  int from = 0, to = 0;
  Half sent, received;
  std::vector<std::byte> under_way;  // that have left the sender
  bool aborted = false;
};

// What one call asks for.
struct Request {
  ncclComm_t comm = nullptr;
  bool sends = false;
  int peer = 0;
  void* at = nullptr;
  std::size_t bytes = 0;
  cudaStream_t stream = nullptr;
};

// What was asked for between ncclGroupStart and the last ncclGroupEnd.
struct RequestGroup {
  std::vector<Request> requests;
  ncclResult_t failed = ncclSuccess;  // of the first request that was refused
  int looks = 0;                      // until it comes onto its streams
};

void set_nccl_error(const std::string& why);  // what ncclGetLastError says

class Exchange {
 public:
  explicit Exchange(int ranks) : comms(static_cast<std::size_t>(ranks), nullptr) {}

  std::vector<ncclComm_t> comms;  // by rank; null: it has not come, or is gone

  bool complete() const;
  // Finds or makes the message, and sends it where its other half is there. Empty, or what is wrong.
  std::string ask(Lock& lock, const Request& request, int rank, const std::shared_ptr<Record>& begun,
                  std::shared_ptr<Record>* done);
  bool idle(int rank) const;
  void abort(int rank);
  void remove_streams();

 private:
  using Pair = std::pair<int, int>;  // from, to
  void send(Lock& lock, const std::shared_ptr<Message>& message, int number);

  std::map<Pair, std::deque<std::shared_ptr<Message>>> unmatched_;
  std::map<Pair, int> sent_;  // how many
  std::map<Pair, cudaStream_t> wires_;
  std::vector<std::shared_ptr<Message>> messages_;  // that are not done
};

}  // namespace afore::shim

struct ncclComm {
  std::shared_ptr<afore::shim::Exchange> exchange;
  int rank = 0, device = 0;
  ncclResult_t state = ncclSuccess;
  bool finalized = false;
  std::shared_ptr<afore::shim::RequestGroup> group = nullptr;  // asked for, and not on its streams yet
};
