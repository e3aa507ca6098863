#pragma once
// AFORE_LAUNCH without a device.
#include <cstddef>
#include <tuple>
#include <utility>

#include "kernels/shim/block.h"
#include "kernels/shim/runtime_api.h"

namespace afore::shim {

// Refused launches are cudaGetLastError's. On the null stream the kernel runs at once, whatever other streams hold, and
// its error is thrown here.
void launch(cudaStream_t stream, const void* kernel, Launch what);

template <class... Parameters, class... Arguments>
void launch(cudaStream_t stream, dim3 grid, dim3 block, std::size_t dynamic_bytes, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  // As parameters, now: the kernel may run later.
  std::tuple<Parameters...> values(std::forward<Arguments>(arguments)...);
  launch(stream, reinterpret_cast<const void*>(kernel),
         {grid, block, dynamic_bytes, [kernel, values = std::move(values)] { std::apply(kernel, values); }});
}

}  // namespace afore::shim
