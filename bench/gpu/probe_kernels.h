#pragma once
// Kernels that measure the device, not us.
#include <cstddef>
#include <cstdint>

#include "kernels/gpu.h"

namespace afore::bench::gpu {

// bf16 numbers in [-scale, scale), different for every element.
void fill_bf16(std::uint16_t* out, std::size_t count, float scale, cudaStream_t stream);
// Reads all of it once, 16 bytes a thread at a time; `bytes` a multiple of 16. `sink` is hardly ever written to.
void read_all(const void* in, std::size_t bytes, int multiprocessors, std::uint32_t* sink, cudaStream_t stream);
void launch_nothing(cudaStream_t stream);

}  // namespace afore::bench::gpu
