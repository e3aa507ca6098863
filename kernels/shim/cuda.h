#pragma once
// CUDA on the CPU, as far as kernels and what drives them use it. Kernels run as fibers (block.h) under a schedule that
// tests choose (schedule.h), on devices that tests choose (settings.h).
#include "kernels/shim/device_code.h"
#include "kernels/shim/launch.h"
#include "kernels/shim/runtime_api.h"
#include "kernels/shim/schedule.h"
#include "kernels/shim/settings.h"
