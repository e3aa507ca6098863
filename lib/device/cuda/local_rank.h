#pragma once

namespace afore::device::cuda {

// A rank of this process in a group of GPUs.
struct LocalRank {
  int rank;
  int device;  // as cudaSetDevice takes it
};

}  // namespace afore::device::cuda
