#include "kernels/shim/nccl_api.h"

#include <cstring>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "kernels/shim/devices.h"
#include "kernels/shim/memory.h"
#include "kernels/shim/nccl_exchange.h"
#include "kernels/shim/nccl_settings.h"
#include "kernels/shim/status.h"

using namespace afore::shim;

namespace {

constexpr int kLooks = 3;  // until a group is on its streams

std::map<int, std::shared_ptr<Exchange>> exchanges;  // by id
int num_ids = 0;
std::set<ncclComm_t> comms;
std::string last_error;
std::function<MessageFate(int from, int to, int number)> message_fates;
thread_local int depth = 0;
thread_local RequestGroup asked;

ncclResult_t fail(ncclResult_t result, const std::string& why) {
  last_error = why;
  return result;
}

int number_of(const ncclUniqueId& id) {
  int number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  return number;
}

ncclResult_t with(ncclComm_t comm, const auto& body) {
  Lock lock = take_lock();
  if (!comms.contains(comm)) return fail(ncclInvalidArgument, "this is no communicator");
  return body(lock);
}

// The kernels of a group: each on its stream, in the order in which ranks were asked.
ncclResult_t launch(Lock& lock, const RequestGroup& group) {
  struct Kernel {
    cudaStream_t stream = nullptr;
    std::shared_ptr<Record> begun = std::make_shared<Record>();
    std::vector<std::shared_ptr<Record>> parts;
  };
  std::map<ncclComm_t, Kernel> kernels;
  ncclResult_t result = ncclSuccess;
  for (const Request& request : group.requests) {
    Kernel& kernel = kernels[request.comm];
    if (kernel.stream == nullptr) {
      kernel.stream = request.stream;
      enqueue(lock, *request.stream, {.marks = kernel.begun});
    }
    const std::string wrong =
        request.comm->exchange->ask(lock, request, request.comm->rank, kernel.begun, &kernel.parts.emplace_back());
    if (wrong.empty()) continue;
    for (const int rank : {request.comm->rank, request.peer})
      request.comm->exchange->comms[static_cast<std::size_t>(rank)]->state = ncclInvalidUsage;
    result = fail(ncclInvalidUsage, wrong);
  }
  for (const auto& [comm, kernel] : kernels) {
    comm->group = nullptr;
    for (const auto& part : kernel.parts) enqueue(lock, *kernel.stream, {.waits = part});
  }
  return result;
}

ncclResult_t check(const Request& request, std::size_t count, ncclDataType_t type) {
  if (!comms.contains(request.comm)) return fail(ncclInvalidArgument, "this is no communicator");
  if (depth == 0) return fail(ncclInvalidUsage, "the stand-in sends and receives in groups alone");
  const ncclComm& comm = *request.comm;
  if (comm.state != ncclSuccess) return fail(ncclInvalidUsage, "the communicator is not ready");
  if (comm.group != nullptr) return fail(ncclInvalidUsage, "the last group is still under way");
  if (request.peer < 0 || request.peer >= std::ssize(comm.exchange->comms) || request.peer == comm.rank)
    return fail(ncclInvalidArgument, "there is no such peer");
  if (!comm.exchange->complete()) return fail(ncclRemoteError, "not all ranks are there");
  if (type != ncclInt8 || count == 0) return fail(ncclInvalidArgument, "the stand-in sends bytes");
  Place place;
  if (locate(request.at, count, &place) != cudaSuccess || place.type != cudaMemoryTypeDevice ||
      place.device != comm.device)
    return fail(ncclInvalidArgument, "these are no bytes of the rank's device");
  const std::shared_ptr<CUstream_st> stream = find_stream(request.stream);
  if (stream == nullptr || stream->device != comm.device)
    return fail(ncclInvalidArgument, "this is no stream of the rank's device");
  for (const Request& other : asked.requests)
    if (other.comm == request.comm && other.stream != request.stream)
      return fail(ncclInvalidUsage, "the stand-in has one stream for a rank in a group");
  return ncclSuccess;
}

ncclResult_t ask(const Request& request, std::size_t count, ncclDataType_t type) {
  const Lock lock = take_lock();
  const ncclResult_t result = check(request, count, type);
  if (result == ncclSuccess) asked.requests.push_back(request);
  else if (depth > 0 && asked.failed == ncclSuccess) asked.failed = result;
  return result;
}

// Of the exchange's last rank, its streams too.
void remove(ncclComm_t comm) {
  const std::shared_ptr<Exchange> exchange = comm->exchange;
  exchange->abort(comm->rank);
  if (const auto group = comm->group)
    for (const Request& request : group->requests) request.comm->group = nullptr;
  comms.erase(comm);
  delete comm;
  for (const ncclComm_t other : exchange->comms)
    if (other != nullptr) return;
  exchange->remove_streams();
  std::erase_if(exchanges, [&](const auto& one) { return one.second == exchange; });
}

}  // namespace

namespace afore::shim {

void set_nccl_error(const std::string& why) { last_error = why; }
void set_message_fates(std::function<MessageFate(int from, int to, int number)> fates) {
  const Lock lock = take_lock();
  message_fates = std::move(fates);
}
MessageFate fate_of_message(int from, int to, int number) {
  return message_fates ? message_fates(from, to, number) : MessageFate::arrives;
}
int num_communicators() {
  const Lock lock = take_lock();
  return static_cast<int>(comms.size());
}

}  // namespace afore::shim

const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess: return "no error";
    case ncclUnhandledCudaError: return "unhandled cuda error";
    case ncclSystemError: return "unhandled system error";
    case ncclInternalError: return "internal error";
    case ncclInvalidArgument: return "invalid argument";
    case ncclInvalidUsage: return "invalid usage";
    case ncclRemoteError: return "remote process exited or there was a network error";
    case ncclInProgress: return "NCCL operation in progress";
  }
  return "unknown result code";
}
const char* ncclGetLastError(ncclComm_t) {
  const Lock lock = take_lock();
  return last_error.c_str();
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  const Lock lock = take_lock();
  *id = {};
  std::memcpy(id->internal, &++num_ids, sizeof(num_ids));
  return ncclSuccess;
}
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config) {
  const Lock lock = take_lock();
  if (refusal() != cudaSuccess) return fail(ncclUnhandledCudaError, "CUDA serves no call");
  if (config->blocking != 0) return fail(ncclInvalidArgument, "the stand-in has non-blocking communicators alone");
  std::shared_ptr<Exchange>& exchange = exchanges[number_of(id)];
  if (exchange == nullptr) exchange = std::make_shared<Exchange>(ranks);
  if (rank < 0 || rank >= ranks || std::ssize(exchange->comms) != ranks ||
      exchange->comms[static_cast<std::size_t>(rank)] != nullptr)
    return fail(ncclInvalidArgument, "there is no such rank, or it has come already");
  for (const ncclComm_t other : exchange->comms)
    if (other != nullptr && other->device == current_device()) return fail(ncclInvalidUsage, "Duplicate GPU detected");
  *comm = exchange->comms[static_cast<std::size_t>(rank)] =
      new ncclComm{.exchange = exchange, .rank = rank, .device = current_device()};
  comms.insert(*comm);
  return ncclInProgress;
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  return with(comm, [&](Lock& lock) {
    run_some(lock);
    *state = comm->state;
    if (comm->state != ncclSuccess) return ncclSuccess;
    if (!comm->exchange->complete() || (comm->finalized && !comm->exchange->idle(comm->rank))) *state = ncclInProgress;
    if (comm->group == nullptr) return ncclSuccess;
    *state = ncclInProgress;
    if (--comm->group->looks <= 0) {
      const std::shared_ptr<RequestGroup> group = comm->group;
      if (const ncclResult_t result = launch(lock, *group); result != ncclSuccess) *state = result;
    }
    return ncclSuccess;
  });
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  return with(comm, [&](Lock&) {
    comm->finalized = true;
    return ncclInProgress;
  });
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  return with(comm, [&](Lock&) {
    remove(comm);
    return ncclSuccess;
  });
}
ncclResult_t ncclCommAbort(ncclComm_t comm) { return ncclCommDestroy(comm); }

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  const Lock lock = take_lock();
  if (depth == 0) return fail(ncclInvalidUsage, "no group was begun");
  if (--depth > 0) return ncclSuccess;
  RequestGroup mine = std::exchange(asked, {});
  if (mine.failed != ncclSuccess || mine.requests.empty()) return mine.failed;
  mine.looks = kLooks;
  const auto group = std::make_shared<RequestGroup>(std::move(mine));
  for (const Request& request : group->requests) request.comm->group = group;
  return ncclInProgress;
}
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return ask({comm, true, peer, const_cast<void*>(from), count, stream}, count, type);
}
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return ask({comm, false, peer, to, count, stream}, count, type);
}
