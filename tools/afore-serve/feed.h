#pragma once
// A stream of records as targets for a host: demand with its batch and its plan. A demand is handed over when the line
// after it was read, since that line may be its plan; raw lines pass through before.
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "common/planning.h"
#include "common/predict_stage.h"
#include "common/record_stream.h"

namespace afore::serve {

struct FeedHandler {
  // `header`: nullopt when the stream has none (flags must do). Called once, before anything else.
  std::function<void(const std::optional<Header>& header, std::string_view raw)> begin;
  std::function<void(std::string_view raw, const Record& record)> pass;  // every other input line, in order
  std::function<void(const PlacementRecord&)> placement;
  std::function<void(const Prediction&)> prediction;
  std::function<void(const Demand&, const Batch* batch, const Plan* plan)> target;
};

class Feed {
 public:
  // `embedded`: plans of the stream belong to their demand. Without it a demand is handed over at once, plans ignored.
  Feed(cli::RecordStream& stream, const cli::PlanningFlags& flags, bool embedded, FeedHandler handler)
      : stream_(stream),
        input_(stream, {flags.predictor, flags.layers_ahead}),
        embedded_(embedded),
        handler_(std::move(handler)) {}
  void run();  // to the end of the stream; Errors of the stream and of the handlers pass through

 private:
  void release(const Plan* plan);

  cli::RecordStream& stream_;
  cli::PredictStage input_;  // the stream, with what --predictor says
  bool embedded_;
  FeedHandler handler_;
  bool begun_ = false;
  std::optional<Demand> held_;
  std::map<int, Batch> batches_;  // newest by microbatch
};

}  // namespace afore::serve
