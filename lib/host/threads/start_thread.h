#pragma once
// Threads of the engine.
#include <functional>
#include <string>
#include <thread>

namespace afore::host {

// Named for whoever looks at the process (ps -L), and with sleeps that end when they should: 1 us of slack, not 50.
// Error{io} when the system starts no more.
std::thread start_thread(const std::string& name, std::function<void()> body);

}  // namespace afore::host
