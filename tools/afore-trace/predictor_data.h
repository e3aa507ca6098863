#pragma once
// Recorded streams as the data that a predictor learns from.
#include <optional>
#include <string>
#include <vector>

#include "predict/dataset.h"

namespace afore::cli {

struct PredictorDataOptions {
  std::vector<std::string> inputs;  // STREAM or NAME=STREAM
  std::string recover = "tail";
  std::string test_domain;               // all requests of that input are tested, and no others; empty: by test_share
  std::optional<double> test_share;      // of the requests of every input; absent: 0.2
  std::int64_t window = 8, hidden = 64;  // of the shape
};

struct PredictorData {
  predict::PredictorShape shape;
  ModelSpec model;
  predict::Dataset data;
  std::int64_t train_requests = 0, check_requests = 0, test_requests = 0;
};

// Error{usage}: a predictor written there would replace what it is learned from.
void check_output_is_no_input(const PredictorDataOptions& options, const std::string& output);
// Error{data}: another model than the first stream's, or nothing to learn from.
PredictorData load_predictor_data(const PredictorDataOptions& options);

}  // namespace afore::cli
