#include "kernels/shim/nccl_exchange.h"

#include <algorithm>

#include "kernels/shim/memory.h"
#include "kernels/shim/nccl_settings.h"

namespace afore::shim {
namespace {

bool over(const Message& message) { return message.sent.done->done && message.received.done->done; }

}  // namespace

bool Exchange::complete() const { return std::find(comms.begin(), comms.end(), nullptr) == comms.end(); }

std::string Exchange::ask(Lock& lock, const Request& request, int rank, const std::shared_ptr<Record>& begun,
                          std::shared_ptr<Record>* done) {
  std::erase_if(messages_, [](const auto& message) { return over(*message); });
  const Pair pair = request.sends ? Pair{rank, request.peer} : Pair{request.peer, rank};
  std::deque<std::shared_ptr<Message>>& waiting = unmatched_[pair];
  const auto lacks = [&](const auto& message) {
    return (request.sends ? message->sent : message->received).begun == nullptr;
  };
  auto found = std::find_if(waiting.begin(), waiting.end(), lacks);
  if (found == waiting.end()) {
    messages_.push_back(std::make_shared<Message>());
    messages_.back()->from = pair.first;
    messages_.back()->to = pair.second;
    found = waiting.insert(waiting.end(), messages_.back());
  }
  const std::shared_ptr<Message> message = *found;
  Half& half = request.sends ? message->sent : message->received;
  half.at = request.at;
  half.bytes = request.bytes;
  half.begun = begun;
  *done = half.done;
  if (message->sent.begun == nullptr || message->received.begun == nullptr) return "";
  waiting.erase(found);
  if (message->sent.bytes != message->received.bytes)
    return "rank " + std::to_string(pair.first) + " sends " + std::to_string(message->sent.bytes) + " bytes and rank " +
           std::to_string(pair.second) + " receives " + std::to_string(message->received.bytes);
  send(lock, message, sent_[pair]++);
  return "";
}

// On a stream of the pair's own, when both kernels have begun. The sender is done before the receiver has everything.
void Exchange::send(Lock& lock, const std::shared_ptr<Message>& message, int number) {
  const MessageFate fate = fate_of_message(message->from, message->to, number);
  if (fate == MessageFate::breaks) {
    comms[static_cast<std::size_t>(message->to)]->state = ncclRemoteError;
    set_nccl_error("rank " + std::to_string(message->to) + " lost message " + std::to_string(number) + " of rank " +
                   std::to_string(message->from));
    return;
  }
  cudaStream_t& wire = wires_[{message->from, message->to}];
  if (wire == nullptr) wire = add_stream(comms[static_cast<std::size_t>(message->to)]->device);
  enqueue(lock, *wire, {.waits = message->sent.begun});
  enqueue(lock, *wire, {.waits = message->received.begun});
  const auto leave = [message] {
    if (message->aborted) return;
    const Access access(message->sent.at, message->sent.at);
    const auto* const bytes = static_cast<const std::byte*>(message->sent.at);
    message->under_way.assign(bytes, bytes + message->sent.bytes);
  };
  enqueue(lock, *wire, {.run = leave, .marks = message->sent.done});
  if (fate == MessageFate::hangs) return;
  const auto arrive = [message, lost = fate == MessageFate::is_torn ? 1 : 0] {
    if (message->aborted) return;
    const Access access(message->received.at, message->received.at);
    std::copy(message->under_way.begin(), message->under_way.end() - lost,
              static_cast<std::byte*>(message->received.at));
  };
  enqueue(lock, *wire, {.run = arrive, .marks = message->received.done});
}

bool Exchange::idle(int rank) const {
  return std::all_of(messages_.begin(), messages_.end(), [&](const auto& message) {
    return (message->from != rank || message->sent.begun == nullptr || message->sent.done->done) &&
           (message->to != rank || message->received.begun == nullptr || message->received.done->done);
  });
}

void Exchange::abort(int rank) {
  for (const auto& message : messages_) {
    if (message->from != rank && message->to != rank) continue;
    message->aborted = true;
    finish_record(*(message->from == rank ? message->sent : message->received).done);
  }
  comms[static_cast<std::size_t>(rank)] = nullptr;
}

void Exchange::remove_streams() {
  for (const auto& [pair, wire] : wires_)
    if (find_stream(wire) != nullptr) remove_stream(wire);
  wires_.clear();
}

}  // namespace afore::shim
