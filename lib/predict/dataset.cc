#include "predict/dataset.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"

namespace afore::predict {

std::int64_t Dataset::rows_of(Part of) const { return std::count(part.begin(), part.end(), of); }

DatasetBuilder::DatasetBuilder(const PredictorShape& shape) : shape_(shape) {
  data_.layers = shape.layers();
  data_.experts = shape.experts;
  data_.top_k = shape.top_k;
}

void DatasetBuilder::begin_stream() {
  pending_.clear();
  live_.clear();
}

void DatasetBuilder::add(const Batch& batch, const std::function<Part(const std::string&)>& part_of) {
  Pending& pending = pending_[batch.microbatch];
  pending.batch = batch;
  pending.step = batch.step;
  pending.layers = 0;
  pending.chosen.clear();
  pending.rows = 0;
  for (const RowSpan& span : batch.rows) {
    pending.rows += span.tokens;
    if (live_.contains(span.request)) continue;
    const Part part = part_of(span.request);
    live_[span.request].part = part;
    ++requests_[static_cast<int>(part)];
  }
}

void DatasetBuilder::add(const Routing& routing) {
  const auto at = pending_.find(routing.target.microbatch);
  if (at == pending_.end()) return;
  Pending& pending = at->second;
  if (pending.step != routing.target.step || pending.batch.rows.empty()) return;
  if (pending.layers >= data_.layers || shape_.moe_layers[pending.layers] != routing.target.layer) return;
  if (std::ssize(routing.experts) != pending.rows)
    throw Error(ErrorKind::data, fmt::format("step {}, layer {}, microbatch {}: {} rows of routing, the batch has {}",
                                             routing.target.step, routing.target.layer, routing.target.microbatch,
                                             routing.experts.size(), pending.rows));
  for (const std::vector<int>& row : routing.experts)
    for (const int expert : row) pending.chosen.push_back(static_cast<std::uint16_t>(expert));
  if (++pending.layers == data_.layers) commit(pending);
}

void DatasetBuilder::commit(Pending& pending) {
  const std::int64_t first = data_.rows();
  for (const RowSpan& span : pending.batch.rows) {
    const auto live = live_.find(span.request);
    if (live == live_.end())
      throw Error(ErrorKind::data,
                  fmt::format("step {}, microbatch {}: request {} has rows, and was finished by another microbatch",
                              pending.step, pending.batch.microbatch, span.request),
                  "a request stays in one microbatch");
    Request& request = live->second;
    const std::int64_t known = request.last_row >= first ? kOff : request.last_row;
    for (std::int64_t i = 0; i < span.tokens; ++i) {
      data_.previous.push_back(request.last_row);
      data_.known.push_back(known);
      request.last_row = data_.rows();
      data_.token.push_back(span.token_ids.empty() ? kOff : span.token_ids[static_cast<std::size_t>(i)]);
      data_.batch.push_back(batches_);
      data_.part.push_back(request.part);
    }
  }
  const std::size_t row_ids = static_cast<std::size_t>(data_.top_k);
  for (std::int64_t row = 0; row < pending.rows; ++row)
    for (int layer = 0; layer < data_.layers; ++layer) {
      const auto from = pending.chosen.begin() + (layer * pending.rows + row) * data_.top_k;
      data_.chosen.insert(data_.chosen.end(), from, from + static_cast<std::ptrdiff_t>(row_ids));
    }
  for (const std::string& id : pending.batch.finished) live_.erase(id);
  ++batches_;
}

}  // namespace afore::predict
