#pragma once
// Types and functions of the CUDA driver API, or their stand-ins. For types alone: nothing may link the driver, so its
// functions are asked for by name (cudaGetDriverEntryPointByVersion).
#include "kernels/gpu.h"
#if defined(__CUDACC__) || defined(AFORE_WITH_CUDART)
#include <cuda.h>
#else
#include "kernels/shim/driver_api.h"
#endif
