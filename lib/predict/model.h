#pragma once
// A trained cascade: the shape, the vocabulary's vectors and one network per MoE layer. And its file.
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "predict/features.h"

namespace afore::predict {

// What a file may have, and so what can be learned.
inline constexpr int kMostLayers = 1024, kMostExperts = 65535, kMostTopK = 1024;

struct CascadeModel {
  PredictorShape shape;
  TokenTable tokens;
  std::vector<Network> networks;             // by MoE layer; weights that are bf16
  std::map<std::string, std::string> facts;  // about the training, for people
};

// Rounds what is not bf16 yet.
void round_weights(CascadeModel& model);

// Bytes of a file (docs/predictors.md). The same model gives the same bytes.
std::string predictor_bytes(const CascadeModel& model);
// Error{io}; Error{data} naming the file and the fact for anything that predictor_bytes() does not write.
CascadeModel read_predictor(const std::filesystem::path& file);

}  // namespace afore::predict
