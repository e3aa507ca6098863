#include "placement/policy.h"

namespace afore::placement {

std::unique_ptr<Policy> make_afore(const Limits& limits) { return make_paper(limits); }

}  // namespace afore::placement
