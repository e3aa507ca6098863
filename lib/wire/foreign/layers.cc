#include "wire/foreign/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "util/error.h"

namespace afore::wire {
namespace {

[[noreturn]] void ask(const std::string& source, const std::string& fact, const std::string& flags) {
  throw Error(ErrorKind::usage, source + ": " + fact, flags);
}

[[noreturn]] void refuse(const std::string& source, const std::string& fact, const std::string& hint) {
  throw Error(ErrorKind::data, source + ": " + fact, hint);
}

LayerRows of_hidden(std::int64_t rows, const ModelSpec& model, const std::vector<bool>* empty,
                    const std::string& source) {
  LayerRows result;
  result.hidden_layers = rows;
  if (model.layers != kAbsent && model.layers != rows)
    refuse(source, fmt::format("{} rows, the model has {} hidden layers", rows, model.layers),
           "rows are all hidden layers here, dense ones included; is --model the right one?");
  if (model.moe_layers.empty() && empty == nullptr)
    ask(source, "the rows are all hidden layers, and the file does not say which of them are MoE layers",
        "give --model PRESET or --moe-layers LIST");
  for (int row = 0; row < rows; ++row) {
    const bool moe = model.moe_layers.empty()
                         ? !(*empty)[row]
                         : std::binary_search(model.moe_layers.begin(), model.moe_layers.end(), row);
    (moe ? result.rows : result.dense_rows).push_back(row);
    if (!moe && empty != nullptr && !(*empty)[row])
      refuse(source, fmt::format("layer {} has counts, and is a dense layer of the model", row),
             "is --model the right one?");
  }
  if (!model.moe_layers.empty() && model.moe_layers.back() >= rows)
    refuse(source, fmt::format("{} rows, and --moe-layers names layer {}", rows, model.moe_layers.back()),
           "rows are all hidden layers here");
  result.moe_layers = result.rows;
  return result;
}

LayerRows of_moe(std::int64_t rows, const ModelSpec& model, const std::string& source) {
  if (model.moe_layers.empty())
    ask(source, "the rows are the MoE layers, and nothing says which layers of the model these are",
        "give --model PRESET or --moe-layers LIST, like --moe-layers 3-60");
  if (static_cast<std::int64_t>(model.moe_layers.size()) != rows)
    refuse(source, fmt::format("{} rows, the model has {} MoE layers", rows, model.moe_layers.size()),
           rows == model.layers ? "the file has as many rows as the model has hidden layers"
                                : "is --model the right one?");
  LayerRows result;
  result.hidden_layers = model.layers;
  result.rows.resize(static_cast<std::size_t>(rows));
  std::iota(result.rows.begin(), result.rows.end(), 0);
  result.moe_layers = model.moe_layers;
  return result;
}

LayerRows of_keys(const std::vector<std::int64_t>& keyed, const ModelSpec& model, const std::string& source) {
  LayerRows result;
  result.hidden_layers = model.layers;
  std::vector<int> by_layer(keyed.size());
  std::iota(by_layer.begin(), by_layer.end(), 0);
  std::stable_sort(by_layer.begin(), by_layer.end(), [&](int a, int b) { return keyed[a] < keyed[b]; });
  for (const int row : by_layer) {
    const std::int64_t layer = keyed[row];
    if (layer < 0 || layer >= (1 << 20)) refuse(source, fmt::format("layer {} is no layer", layer), "");
    if (!result.moe_layers.empty() && layer == result.moe_layers.back())
      refuse(source, fmt::format("layer {} is there twice", layer), "a layer has one row: remove one of them");
    if (!model.moe_layers.empty() &&
        !std::binary_search(model.moe_layers.begin(), model.moe_layers.end(), static_cast<int>(layer)))
      refuse(source, fmt::format("layer {} is not a MoE layer of the model", layer), "is --model the right one?");
    result.rows.push_back(row);
    result.moe_layers.push_back(static_cast<int>(layer));
  }
  return result;
}

}  // namespace

LayerRows resolve_layers(LayerAxis axis, std::int64_t rows, const std::vector<std::int64_t>& keyed,
                         const ModelSpec& model, const std::vector<bool>* empty_rows, const std::string& source) {
  switch (axis) {
    case LayerAxis::hidden: return of_hidden(rows, model, empty_rows, source);
    case LayerAxis::moe: return of_moe(rows, model, source);
    case LayerAxis::keyed: return of_keys(keyed, model, source);
    case LayerAxis::unsaid: break;
  }
  // Where every layer is a MoE layer, both readings are the same.
  if (model.layers == rows && static_cast<std::int64_t>(model.moe_layers.size()) == rows)
    return of_moe(rows, model, source);
  ask(source, "nothing says whether the rows are all hidden layers or the MoE layers only",
      "give --layer-axis hidden or --layer-axis moe");
}

}  // namespace afore::wire
