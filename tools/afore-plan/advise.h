#pragma once
// afore-plan advise: will moving expert replicas help, on this data?
#include "common/cli.h"

namespace afore::plan {

void add_advise(CLI::App& app);

}  // namespace afore::plan
