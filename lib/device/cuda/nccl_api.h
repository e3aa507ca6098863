#pragma once
// NCCL, or its stand-in on the CPU: as kernels/gpu.h has CUDA.
#include "kernels/gpu.h"
#ifdef AFORE_WITH_CUDART
#include <nccl.h>
#else
#include "kernels/shim/nccl_api.h"
#endif
