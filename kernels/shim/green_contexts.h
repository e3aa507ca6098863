#pragma once
// Green contexts that there are. Callers hold the lock.

namespace afore::shim {

void drop_green_contexts();

}  // namespace afore::shim
