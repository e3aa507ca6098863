#pragma once
// Predictions in a stream, each ahead of the demand at whose time it is known (docs/records.md).
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/record_stream.h"
#include "predict/predictor.h"

namespace afore::cli {

struct PredictFlags {
  std::string file;  // empty: nothing is predicted
  std::int64_t layers_ahead = 1;
};

// Reads a stream like the RecordStream it is given, and puts a predictor's records between its own. A demand is held
// until the record after it was read, which is its routing where the stream has one.
class PredictStage {
 public:
  // `in` outlives it. Without a file it gives `in` as it is.
  PredictStage(RecordStream& in, PredictFlags flags);

  // The next record in the order of the output; false at the end. Error{data}: a file that does not fit the stream's
  // model, or a stream without a model to fit.
  bool next();
  const Record& record() const { return flags_.file.empty() ? in_.record() : item_.record; }
  std::string_view raw() const { return flags_.file.empty() ? in_.raw() : item_.raw; }  // its line, without LF
  bool predicted() const { return item_.predicted; }                                    // it is not of the input

 private:
  struct Item {
    Record record;
    std::string raw;
    bool predicted = false;
  };
  bool read();
  void open();
  void emit_predictions();

  RecordStream& in_;
  const PredictFlags flags_;
  std::unique_ptr<predict::Predictor> predictor_;
  std::deque<Item> ready_;    // in order
  std::optional<Item> held_;  // a demand whose routing may come
  std::vector<Prediction> made_;
  Item item_;
};

}  // namespace afore::cli
