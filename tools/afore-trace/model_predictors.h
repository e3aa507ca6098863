#pragma once
// `afore-trace record --predict`: who guesses what a recorded model's later gates will ask for.
#include <memory>
#include <string>
#include <vector>

#include "host/frozen_gate.h"
#include "host/monolith.h"
#include "host/replica.h"

namespace afore::cli {

bool predicts_with_replica(const std::vector<std::string>& names);

// Of the names that --predict takes. `model` outlives it. Says on standard error how large a replica is.
class ModelPredictors {
 public:
  ModelPredictors(const std::vector<std::string>& names, const host::LoadedModel& model,
                  const host::MonolithOptions& options);
  std::vector<host::Predictor*> all() const;

 private:
  std::unique_ptr<host::Replica> replica_;
  std::unique_ptr<host::FrozenGate> gate_;
};

}  // namespace afore::cli
