#pragma once
// Which GPUs there are, and which of them reach each other's memory.
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/gpu.h"

namespace afore::device::cuda {

// The calling thread's GPU from here on. Everything public here says it anew: threads are the hosts'.
void use(int gpu);

struct FoundGpus {
  std::vector<int> gpus;  // CUDA's numbers of those that the kernels run on
  std::string model;      // of the first: "NVIDIA H200"
  std::string why_none;   // one line, when there are none
  // Of the one that has least.
  std::int64_t free_bytes() const;
};
FoundGpus find_gpus();

// Lets each of `gpus` read and write the others' memory where the machine can. True: everywhere.
bool join_peers(const std::vector<int>& gpus);

}  // namespace afore::device::cuda
