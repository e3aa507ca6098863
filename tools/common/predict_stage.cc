#include "common/predict_stage.h"

#include <fmt/format.h>

#include "util/error.h"

namespace afore::cli {

PredictStage::PredictStage(RecordStream& in, PredictFlags flags) : in_(in), flags_(std::move(flags)) {}

bool PredictStage::next() {
  if (flags_.file.empty()) return in_.next();
  while (ready_.empty())
    if (!read()) return false;
  item_ = std::move(ready_.front());
  ready_.pop_front();
  return true;
}

// The header may still gain keys from later ones, so the predictor is opened when it is first needed.
void PredictStage::open() {
  const std::optional<Header>& header = in_.header();
  if (!header || header->model.moe_layers.empty() || header->model.experts == kAbsent || header->model.top_k == kAbsent)
    throw Error(ErrorKind::data, in_.lines().name() + ": its header does not say what a predictor must fit",
                "model.moe_layers, model.experts and model.top_k");
  predictor_ = predict::open_predictor(flags_.file, header->model, static_cast<int>(flags_.layers_ahead));
}

void PredictStage::emit_predictions() {
  for (Prediction& prediction : made_) {
    std::string line = wire::to_json(prediction);
    ready_.push_back({std::move(prediction), std::move(line), true});
  }
  made_.clear();
}

// One record of the input, and what may go out with it.
bool PredictStage::read() {
  if (!in_.next()) {
    if (!held_) return false;
    ready_.push_back(std::move(*held_));
    held_.reset();
    return true;
  }
  Item item{in_.take(), std::string(in_.raw()), false};
  const auto* batch = std::get_if<Batch>(&item.record);
  const auto* routing = std::get_if<Routing>(&item.record);
  if ((batch != nullptr || routing != nullptr) && !predictor_) open();
  try {
    if (batch != nullptr) predictor_->begin_step(*batch, made_);
    if (routing != nullptr) predictor_->observe(*routing, made_);
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}:{}: {}", in_.lines().name(), in_.line_number(), error.what()),
                error.hint());
  }
  // A demand's own routing tells of later layers at the demand's time: ahead of it.
  const bool of_held = held_ && routing != nullptr && std::get<Demand>(held_->record).target == routing->target;
  if (of_held) emit_predictions();
  if (held_) ready_.push_back(std::move(*held_));
  held_.reset();
  if (std::holds_alternative<Demand>(item.record)) {
    held_ = std::move(item);
    return true;
  }
  ready_.push_back(std::move(item));
  emit_predictions();  // of a batch, ahead of its first demand
  return true;
}

}  // namespace afore::cli
