#pragma once
// Training of a cascade's networks: every layer by itself, with what the gates of the layers before it truly chose.
#include <cstdint>
#include <functional>

#include "predict/dataset.h"
#include "predict/model.h"
#include "util/stop_flag.h"

namespace afore::predict {

struct TrainOptions {
  int epochs = 8;
  std::uint64_t seed = 0;
  int threads = 1;  // the result does not depend on it
  // Called now and then, from any thread but one at a time: parts of the work that are done.
  std::function<void(std::int64_t done, std::int64_t total)> progress;
  const StopFlag* interrupted = nullptr;  // training then ends early, with Error{interrupted}
};

// Fills model.networks. Loss: for each expert the cross entropy of "the token takes it". Adam (Kingma, Ba 2015) with
// decoupled weight decay (Loshchilov, Hutter 2019) and a rate that falls linearly to 0. Of each layer the epoch stays
// that is best on the rows of Part::check.
void train(const Dataset& data, const TrainOptions& options, CascadeModel& model);

// How one layer's networks do on rows of Part::test, one layer ahead: with the true routing of the layers before.
struct LayerAccuracy {
  std::int64_t rows = 0;
  double recall = 0;                // share of the chosen experts that are among the top_k best scores
  double popular_recall = 0;        // of the top_k experts that the training rows took most
  double counts_error = 0;          // mean over microbatches of sum |expected - true| / sum true
  double popular_counts_error = 0;  // where every row is expected to spread as the training rows did
};
std::vector<LayerAccuracy> evaluate(const Dataset& data, const CascadeModel& model, int threads);

}  // namespace afore::predict
