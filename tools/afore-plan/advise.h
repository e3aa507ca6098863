#pragma once
// afore-plan advise: will moving expert replicas help, on this data?
#include "common/options.h"

namespace afore::plan {

void add_advise(cli::Command app);

}  // namespace afore::plan
