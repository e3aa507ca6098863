#pragma once
// How well the predictions in a stream met its demand.
#include <map>
#include <string>
#include <utility>

#include "core/records.h"

namespace afore::cli {

class PredictStat {
 public:
  void add(const Record& record);
  std::string table() const;
  std::string json() const;

 private:
  struct Layer {
    std::int64_t targets = 0, predicted = 0;  // those with a prediction
    std::int64_t assignments = 0, hits = 0;   // of predicted ones: true; sum of min(predicted, true)
    double error = 0;                         // sum over targets of sum |predicted - true| / sum true
  };
  static Layer sum_of(const std::map<int, Layer>& layers);
  void meet(const Demand& demand);

  std::map<int, Layer> layers_;
  std::map<std::pair<int, int>, Prediction> latest_;  // by microbatch and layer
};

}  // namespace afore::cli
