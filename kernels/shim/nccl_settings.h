#pragma once
// What a test may choose of NCCL's stand-in.
#include <functional>

namespace afore::shim {

enum class MessageFate {
  arrives,
  is_torn,  // its last byte does not arrive
  hangs,    // it leaves its sender and never arrives
  breaks,   // ncclRemoteError for the receiver
};
// Of a communicator's message number 0, 1, 2, ... from one rank to another. Null, as at first: all arrive.
void set_message_fates(std::function<MessageFate(int from, int to, int number)> fates);
MessageFate fate_of_message(int from, int to, int number);

// Communicators that are neither destroyed nor aborted.
int num_communicators();

}  // namespace afore::shim
