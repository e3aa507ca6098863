#pragma once
// Work on every layer, a few at a time.
#include <functional>

namespace afore::predict {

// Calls work(0 … layers - 1), each once, on up to `threads` threads. What the first of them throws, it throws.
void layers_at_once(int layers, int threads, const std::function<void(int ordinal)>& work);

}  // namespace afore::predict
