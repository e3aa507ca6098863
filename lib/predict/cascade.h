#pragma once
// The cascade at work: what it knows of live requests and of the steps under way.
#include <map>
#include <string>
#include <unordered_map>

#include "predict/counts.h"
#include "predict/model.h"
#include "predict/predictor.h"

namespace afore::predict {

class Cascade final : public Predictor {
 public:
  Cascade(CascadeModel model, int layers_ahead);

  void begin_step(const Batch& batch, std::vector<Prediction>& out) override;
  void observe(const Routing& routing, std::vector<Prediction>& out) override;

  std::size_t live_requests() const { return requests_.size(); }

 private:
  struct Request {
    TokenContext tokens;
    std::vector<std::int32_t> last;    // [layer][top_k] of its last token; kOff
    std::vector<float> sums, weights;  // of its routing: [layer][experts], [layer]
  };
  struct Step {  // of a microbatch
    std::int64_t step = kAbsent;
    int rows = 0;
    std::vector<std::string> finished;               // requests that end in it
    std::vector<std::shared_ptr<Request>> requests;  // by row; null where not told
    std::vector<float> tokens;                       // [rows][token_values]
    std::vector<std::uint16_t> chosen;               // [layer][rows][top_k], true or predicted; kUnknown
  };

  static constexpr std::uint16_t kUnknown = 0xFFFF;
  const std::shared_ptr<Request>& request_of(const std::string& id);
  void forget(Step& step);
  void resize(Step& step, std::int64_t rows);
  void take(Step& step, int ordinal, const Routing& routing);
  // Appends predictions of the `layers_ahead` MoE layers from `first` on.
  void predict(Step& step, const Target& of, int first, std::vector<Prediction>& out);
  void gather(const Step& step, int ordinal, int first_row, int rows);

  const CascadeModel model_;
  const int layers_ahead_;
  std::unordered_map<std::string, std::shared_ptr<Request>> requests_;
  std::map<int, Step> steps_;
  ExpectedCounts expected_;
  Inputs inputs_;
  Activations activations_;
};

}  // namespace afore::predict
