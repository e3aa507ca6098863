#pragma once
// NCCL on the CPU, as far as copies between GPUs use it: names, values and structs of NCCL 2.28. It has sends and
// receives of one process's communicators, which are non-blocking, and no collectives.
//
// What a group asked for comes onto its streams at a later look at the state of one of its communicators, as NCCL does
// it in a thread of its own; until then none of them takes more. There, all that one rank does in a group is one
// kernel: it begins when the stream gets to it and holds the stream until all its sends and receives are done. Sends
// match receives in the order of their calls, pair by pair of ranks; one without its other half holds its stream for
// ever, and two of different sizes are ncclInvalidUsage for both ranks. ncclCommAbort frees what a rank holds.
//
// What a test may choose of it: nccl_settings.h.
#include <cstddef>

#include "kernels/shim/runtime_api.h"

enum ncclResult_t {
  ncclSuccess = 0,
  ncclUnhandledCudaError = 1,
  ncclSystemError = 2,
  ncclInternalError = 3,
  ncclInvalidArgument = 4,
  ncclInvalidUsage = 5,
  ncclRemoteError = 6,
  ncclInProgress = 7,
};
enum ncclDataType_t { ncclInt8 = 0 };
using ncclComm_t = struct ncclComm*;
struct ncclUniqueId {
  char internal[128];
};
struct ncclConfig_t {
  int blocking;
};
#define NCCL_CONFIG_INITIALIZER \
  { 1 }

const char* ncclGetErrorString(ncclResult_t result);
const char* ncclGetLastError(ncclComm_t comm);
ncclResult_t ncclGetUniqueId(ncclUniqueId* id);
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank, ncclConfig_t* config);
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state);
ncclResult_t ncclCommFinalize(ncclComm_t comm);
ncclResult_t ncclCommDestroy(ncclComm_t comm);
ncclResult_t ncclCommAbort(ncclComm_t comm);

ncclResult_t ncclGroupStart();
ncclResult_t ncclGroupEnd();
ncclResult_t ncclSend(const void* from, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream);
ncclResult_t ncclRecv(void* to, std::size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream);
