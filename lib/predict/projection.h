#pragma once
// Narrow vectors of a vocabulary, made of a model's embedding.
#include <filesystem>

#include "predict/features.h"

namespace afore::predict {

// The rows of the embedding of a Hugging Face folder, less their mean, along the `dims` directions in which they vary
// most (principal components, by subspace iteration on at most 8,192 rows), in the unit of their spread. Error as
// nn::open_model().
TokenTable project_embedding(const std::filesystem::path& folder, int dims, std::uint64_t seed);

}  // namespace afore::predict
