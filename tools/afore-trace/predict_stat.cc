#include "predict_stat.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "json_object.h"
#include "report/table.h"

namespace afore::cli {

void PredictStat::add(const Record& record) {
  if (const auto* prediction = std::get_if<Prediction>(&record))
    latest_[{prediction->target.microbatch, prediction->target.layer}] = *prediction;
  if (const auto* demand = std::get_if<Demand>(&record); demand != nullptr && demand->phase != Phase::warmup)
    meet(*demand);
}

void PredictStat::meet(const Demand& demand) {
  const std::int64_t sum = std::accumulate(demand.counts.begin(), demand.counts.end(), std::int64_t{0});
  if (sum == 0) return;
  Layer& layer = layers_[demand.target.layer];
  ++layer.targets;
  const auto at = latest_.find({demand.target.microbatch, demand.target.layer});
  if (at == latest_.end() || at->second.target != demand.target || at->second.counts.size() != demand.counts.size())
    return;
  std::int64_t off = 0;
  for (std::size_t e = 0; e < demand.counts.size(); ++e) {
    off += std::abs(at->second.counts[e] - demand.counts[e]);
    layer.hits += std::min(at->second.counts[e], demand.counts[e]);
  }
  ++layer.predicted;
  layer.assignments += sum;
  layer.error += static_cast<double>(off) / static_cast<double>(sum);
}

PredictStat::Layer PredictStat::sum_of(const std::map<int, Layer>& layers) {
  Layer all;
  for (const auto& [_, layer] : layers) {
    all.targets += layer.targets;
    all.predicted += layer.predicted;
    all.assignments += layer.assignments;
    all.hits += layer.hits;
    all.error += layer.error;
  }
  return all;
}

namespace {

double ratio(double of, std::int64_t by) { return of / static_cast<double>(std::max<std::int64_t>(by, 1)); }

}  // namespace

std::string PredictStat::table() const {
  report::Table table({{"layer"}, {"targets"}, {"predicted"}, {"counts error"}, {"met"}});
  const auto add_row = [&](const std::string& name, const Layer& l) {
    const bool any = l.predicted > 0;
    table.add_row({name, std::to_string(l.targets), std::to_string(l.predicted),
                   any ? fmt::format("{:.3f}", ratio(l.error, l.predicted)) : "-",
                   any ? fmt::format("{:.3f}", ratio(static_cast<double>(l.hits), l.assignments)) : "-"});
  };
  for (const auto& [id, layer] : layers_) add_row(std::to_string(id), layer);
  table.add_rule();
  add_row("all", sum_of(layers_));
  return table.aligned() +
         "counts error: mean of sum |predicted - true| / sum true; met: sum of min(predicted, true) / sum true\n";
}

std::string PredictStat::json() const {
  const auto object = [](const Layer& l) {
    JsonObject out;
    out.add("targets", l.targets).add("predicted", l.predicted);
    if (l.predicted == 0) return out.add_raw("counts_error", "null").add_raw("met", "null");
    return out.add("counts_error", ratio(l.error, l.predicted))
        .add("met", ratio(static_cast<double>(l.hits), l.assignments));
  };
  std::string layers;
  for (const auto& [id, layer] : layers_) {
    std::string text = object(layer).text();
    text.insert(1, fmt::format("\"layer\":{},", id));
    if (!layers.empty()) layers += ',';
    layers += text;
  }
  return JsonObject().add_raw("layers", "[" + layers + "]").add_raw("total", object(sum_of(layers_)).text()).text() +
         "\n";
}

}  // namespace afore::cli
