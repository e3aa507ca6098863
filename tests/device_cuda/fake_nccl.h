#pragma once
// Stands in for NCCL and the CUDA runtime, so that what NcclGroup does with them is seen without a GPU: linked instead
// of them, it writes down the calls and answers as a test has it.
#include <nccl.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

struct ncclComm {
  int rank = 0;
  bool freed = false;
};

namespace afore::device::cuda {

struct FakeNccl {
  std::vector<std::string> calls;  // under NcclGroup's own mutex, or before it has one
  int devices = 8;
  int bad_device = -1;  // cudaSetDevice refuses it
  std::function<ncclResult_t(const std::string& call)> result = [](const std::string&) { return ncclSuccess; };
  std::function<ncclResult_t(int rank)> state = [](int) { return ncclSuccess; };
  std::atomic<int> looks = 0;  // at a communicator's state
  std::atomic<int> use_after_free = 0;
};
extern FakeNccl fake;

}  // namespace afore::device::cuda
