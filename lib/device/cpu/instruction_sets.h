#pragma once
// One Kernels for each instruction set; inside this room only. Calling one that the processor lacks ends the program.
#include "device/cpu/kernels.h"

namespace afore::device::cpu {

const Kernels& scalar_kernels();
#ifdef __x86_64__
const Kernels& avx2_kernels();
const Kernels& avx512bf16_kernels();
#endif

}  // namespace afore::device::cpu
