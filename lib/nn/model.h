#pragma once
// A model that can be computed: what it is, and its weights, of a folder or made up.
#include <cstdint>
#include <filesystem>
#include <memory>

#include "nn/config.h"
#include "nn/weights.h"

namespace afore::nn {

struct Model {
  ModelConfig config;
  ModelTensors tensors;                // views into `memory`
  std::shared_ptr<const void> memory;  // the open checkpoint, or made-up values
};

Model open_model(const std::filesystem::path& folder);  // Error as read_config(), Checkpoint and bind_tensors()

// Weights of the config's shapes that are pseudo-random, for measurements at sizes that nobody wants to download.
// Matrices are windows into one table of bf16 values, each at a place of its own, so that a model of any size costs the
// memory of its largest tensor; norms are 1, biases 0. The same seed gives the same weights.
Model random_model(const ModelConfig& config, std::uint64_t seed);

}  // namespace afore::nn
