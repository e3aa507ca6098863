#include "fake_nccl.h"

namespace afore::device::cuda {
FakeNccl fake;
}

using afore::device::cuda::fake;

namespace {

ncclResult_t called(const std::string& call) {
  fake.calls.push_back(call);
  return fake.result(call);
}
ncclResult_t with(const char* name, ncclComm_t comm) {
  if (!comm || comm->freed) {
    ++fake.use_after_free;
    return ncclInvalidArgument;
  }
  return called(name + std::to_string(comm->rank));
}
ncclResult_t freeing(const char* name, ncclComm_t comm) {
  const ncclResult_t result = with(name, comm);
  if (comm) comm->freed = true;  // kept, so that a later use is seen
  return result;
}

}  // namespace

extern "C" {

const char* ncclGetErrorString(ncclResult_t) { return "a fake error"; }
const char* ncclGetLastError(ncclComm_t) { return "its\ncause"; }
ncclResult_t ncclGetUniqueId(ncclUniqueId*) { return called("id"); }
ncclResult_t ncclGroupStart() { return called("start"); }
ncclResult_t ncclGroupEnd() { return called("end"); }
ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int, ncclUniqueId, int rank, ncclConfig_t* config) {
  static std::vector<std::unique_ptr<ncclComm>> all;
  if (config->blocking != 0) return ncclInvalidArgument;
  const ncclResult_t result = called("init" + std::to_string(rank));
  if (result != ncclSuccess) return result;
  all.push_back(std::make_unique<ncclComm>(ncclComm{rank}));
  *comm = all.back().get();
  return result;
}
ncclResult_t ncclAllReduce(const void*, void*, std::size_t count, ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm,
                           cudaStream_t) {
  if (type != ncclFloat || op != ncclSum) return ncclInvalidArgument;
  return with(("sum" + std::to_string(count) + ":").c_str(), comm);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* state) {
  if (!comm || comm->freed) {
    ++fake.use_after_free;
    return ncclInvalidArgument;
  }
  *state = fake.state(comm->rank);
  ++fake.looks;
  return ncclSuccess;
}
ncclResult_t ncclCommFinalize(ncclComm_t comm) { return with("finalize", comm); }
ncclResult_t ncclCommDestroy(ncclComm_t comm) { return freeing("destroy", comm); }
ncclResult_t ncclCommAbort(ncclComm_t comm) { return freeing("abort", comm); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = fake.devices;
  return cudaSuccess;
}
cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return cudaSuccess;
}
cudaError_t cudaSetDevice(int device) {
  fake.calls.push_back("device" + std::to_string(device));
  return device == fake.bad_device ? cudaErrorDevicesUnavailable : cudaSuccess;
}
const char* cudaGetErrorString(cudaError_t) { return "a fake CUDA error"; }
}
