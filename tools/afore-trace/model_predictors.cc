#include "model_predictors.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/messages.h"
#include "device/cpu/thread_pool.h"

namespace afore::cli {
namespace {

bool names_one(const std::vector<std::string>& names, const char* name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool predicts_with_replica(const std::vector<std::string>& names) { return names_one(names, "replica"); }

ModelPredictors::ModelPredictors(const std::vector<std::string>& names, const host::LoadedModel& model,
                                 const host::MonolithOptions& options) {
  if (names.empty()) return;
  // They compute between the model's own operations, so its threads are idle then.
  const auto pool = options.threads > 1 ? std::make_shared<device::cpu::ThreadPool>(options.threads) : nullptr;
  if (predicts_with_replica(names)) {
    replica_ = std::make_unique<host::Replica>(
        model.model, options.isa, pool, options.kv_budget_tokens / device::kPageTokens * options.attention_workers,
        options.routing);
    const auto whole = static_cast<double>(nn::stored_bytes(model.model.tensors));
    const auto bytes = static_cast<double>(replica_->weight_bytes());
    note(fmt::format("the replica has {:.1f} MiB of weights, {:.1f}% of the model's", bytes / (1 << 20),
                     100 * bytes / whole));
  }
  if (names_one(names, "gate"))
    gate_ = std::make_unique<host::FrozenGate>(model.weights(), options.isa, pool, options.routing);
}

std::vector<host::Predictor*> ModelPredictors::all() const {
  std::vector<host::Predictor*> predictors;
  if (replica_) predictors.push_back(replica_.get());
  if (gate_) predictors.push_back(gate_.get());
  return predictors;
}

}  // namespace afore::cli
