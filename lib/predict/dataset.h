#pragma once
// The tokens of recorded runs and what every MoE layer's gate chose for them, as training reads them.
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "core/records.h"
#include "predict/features.h"

namespace afore::predict {

enum class Part : std::uint8_t { train, check, test };  // check: says when training has gone on long enough

struct Dataset {
  int layers = 0, experts = 0, top_k = 0;
  // By row, in the order of the streams; a row is a token in one step.
  std::vector<std::int64_t> token;     // its id, kOff = unknown
  std::vector<std::int64_t> previous;  // row of the request's last token before it; kOff = none
  std::vector<std::int64_t> known;     // row of its last token of an earlier step; kOff = none
  std::vector<std::int32_t> batch;     // which microbatch's step it belongs to, ascending
  std::vector<Part> part;
  std::vector<std::uint16_t> chosen;  // [row][layer][top_k]

  std::int64_t rows() const { return static_cast<std::int64_t>(token.size()); }
  const std::uint16_t* experts_of(std::int64_t row, int layer) const {
    return chosen.data() + (row * layers + layer) * top_k;
  }
  std::int64_t rows_of(Part of) const;
};

// Fills a dataset from streams, one after the other. Only microbatches' steps that are whole count: rows that say which
// tokens they are, and the routing of every MoE layer.
class DatasetBuilder {
 public:
  explicit DatasetBuilder(const PredictorShape& shape);
  void begin_stream();
  // The request's part is told with its first batch. Error{data}: rows and routing do not agree.
  void add(const Batch& batch, const std::function<Part(const std::string& request)>& part_of);
  void add(const Routing& routing);

  std::int64_t requests(Part of) const { return requests_[static_cast<int>(of)]; }
  Dataset take() { return std::move(data_); }

 private:
  struct Request {
    std::int64_t last_row = kOff;
    Part part = Part::train;
  };
  struct Pending {  // a microbatch's step under way
    Batch batch;
    std::int64_t step = -1, rows = 0;
    int layers = 0;                     // whose routing is there, all of them before
    std::vector<std::uint16_t> chosen;  // [layer][row][top_k]
  };
  void commit(Pending& pending);

  const PredictorShape shape_;
  Dataset data_;
  std::map<int, Pending> pending_;
  std::unordered_map<std::string, Request> live_;
  std::int64_t requests_[3] = {};
  std::int32_t batches_ = 0;
};

}  // namespace afore::predict
