#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>

#include "nn/bf16.h"
#include "nn/checkpoint.h"
#include "nn/mapped_file.h"
#include "nn/safetensors.h"
#include "nn/safetensors_writer.h"
#include "predict/model.h"
#include "util/error.h"

namespace afore::predict {
namespace {

constexpr std::string_view kFormat = "afore-predictor", kVersion = "1";
constexpr int kMostHidden = 4096, kMostDims = 4096;
constexpr int kMostVocab = 1 << 22;

std::uint16_t to_bf16(float value) { return nn::round_to_bf16(std::bit_cast<std::uint32_t>(value)); }
float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

// [rows][columns] of values that stand `stride` apart.
nn::TensorToWrite tensor(const std::string& name, const float* values, int rows, int columns, int stride) {
  nn::TensorToWrite out{name, "BF16", {rows, columns}, {}};
  out.bytes.reserve(2 * static_cast<std::size_t>(rows) * columns);
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c) {
      const std::uint16_t bits = to_bf16(values[static_cast<std::size_t>(r) * stride + c]);
      out.bytes += static_cast<char>(bits & 0xFF);
      out.bytes += static_cast<char>(bits >> 8);
    }
  return out;
}

std::string decays_text() { return fmt::format("tokens {}, routing {}", fmt::join(kTokenDecays, " "), kRoutingDecay); }

// The file's tensors by name, each to be asked for once.
class Reader {
 public:
  explicit Reader(const std::filesystem::path& path) : file_(path) {
    entries_ = nn::read_safetensors_header(file_.bytes(), file_.name());
    metadata_ = nn::read_safetensors_metadata(file_.bytes(), file_.name());
  }

  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "") const {
    throw Error(ErrorKind::data, file_.name() + ": " + fact, hint);
  }
  const std::string& text(const std::string& key) const {
    const auto at = metadata_.find(key);
    if (at == metadata_.end()) fail(fmt::format("its metadata lacks {}", key));
    return at->second;
  }
  int integer(const std::string& key, int least, int most) const { return integer(key, text(key), least, most); }
  int integer(const std::string& key, std::string_view digits, int least, int most) const {
    int value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc() || end != digits.data() + digits.size() || value < least || value > most)
      fail(fmt::format("{} is {}, expected a whole number from {} to {}", key, digits, least, most));
    return value;
  }
  // A BF16 tensor of that shape, into rows that stand `stride` apart.
  void read(const std::string& name, int rows, int columns, float* out, int stride) {
    std::vector<std::uint16_t> row(static_cast<std::size_t>(columns));
    const nn::Tensor found = find(name, {rows, columns});
    for (int r = 0; r < rows; ++r) {
      nn::read_bf16(found, static_cast<std::int64_t>(r) * columns, row);
      for (int c = 0; c < columns; ++c) out[static_cast<std::size_t>(r) * stride + c] = from_bf16(row[c]);
    }
  }
  void read(const std::string& name, int rows, int columns, std::vector<std::uint16_t>& out) {
    const nn::Tensor found = find(name, {rows, columns});
    out.resize(static_cast<std::size_t>(rows) * columns);
    nn::read_bf16(found, 0, out);
  }
  std::int64_t rows_of(const std::string& name) const {
    for (const nn::SafetensorsEntry& entry : entries_)
      if (entry.name == name && entry.shape.size() == 2) return entry.shape[0];
    return 0;
  }
  void check(const std::string& name, const std::vector<std::int64_t>& shape) const { entry_of(name, shape); }
  void end() const {
    if (entries_.size() != read_) fail(fmt::format("{} tensors, expected {}", entries_.size(), read_));
  }
  std::map<std::string, std::string> metadata() && { return std::move(metadata_); }

 private:
  const nn::SafetensorsEntry& entry_of(const std::string& name, const std::vector<std::int64_t>& shape) const {
    for (const nn::SafetensorsEntry& entry : entries_) {
      if (entry.name != name) continue;
      if (entry.dtype != "BF16" || entry.shape != shape)
        fail(fmt::format("tensor {} is {} {}, expected BF16 {}", name, entry.dtype, entry.shape, shape));
      return entry;
    }
    fail(fmt::format("there is no tensor {}", name));
  }
  nn::Tensor find(const std::string& name, const std::vector<std::int64_t>& shape) {
    const nn::SafetensorsEntry& entry = entry_of(name, shape);
    ++read_;
    return {name, file_.name(), nn::Dtype::bf16, shape, file_.bytes().subspan(entry.begin, entry.end - entry.begin)};
  }

  nn::MappedFile file_;
  std::vector<nn::SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
  std::size_t read_ = 0;
};

PredictorShape read_shape(const Reader& file) {
  if (file.text("format") != kFormat) file.fail("it is no predictor", "afore-trace train-predictor makes one");
  if (file.text("version") != kVersion)
    file.fail(fmt::format("its version is {}, this program reads {}", file.text("version"), kVersion));
  if (file.text("decays") != decays_text())
    file.fail(fmt::format("its decays are \"{}\", this program has \"{}\"", file.text("decays"), decays_text()));
  PredictorShape shape;
  shape.model = file.text("model");
  shape.experts = file.integer("experts", 1, kMostExperts);
  shape.top_k = file.integer("top_k", 1, std::min(kMostTopK, shape.experts));
  shape.hidden = file.integer("hidden", 0, kMostHidden);
  if (shape.hidden % kLanes != 0) file.fail(fmt::format("hidden is {}, no multiple of {}", shape.hidden, kLanes));
  shape.window = file.integer("window", 0, kMostLayers);
  std::string_view list = file.text("moe_layers");
  while (true) {
    const auto comma = list.find(',');
    const int layer = file.integer("moe_layers", list.substr(0, comma), 0, (1 << 20) - 1);
    if (!shape.moe_layers.empty() && layer <= shape.moe_layers.back()) file.fail("its moe_layers do not ascend");
    if (shape.layers() == kMostLayers) file.fail(fmt::format("it has more than {} layers", kMostLayers));
    shape.moe_layers.push_back(layer);
    if (comma == std::string_view::npos) return shape;
    list.remove_prefix(comma + 1);
  }
}

}  // namespace

void round_weights(CascadeModel& model) {
  const auto round = [](std::vector<float>& values) {
    for (float& value : values) value = from_bf16(to_bf16(value));
  };
  for (Network& network : model.networks) {
    round(network.input);
    round(network.bias);
    round(network.output);
  }
}

std::string predictor_bytes(const CascadeModel& model) {
  const PredictorShape& shape = model.shape;
  std::map<std::string, std::string> metadata = model.facts;
  metadata["format"] = kFormat;
  metadata["version"] = kVersion;
  metadata["model"] = shape.model;
  metadata["moe_layers"] = fmt::format("{}", fmt::join(shape.moe_layers, ","));
  metadata["experts"] = std::to_string(shape.experts);
  metadata["top_k"] = std::to_string(shape.top_k);
  metadata["hidden"] = std::to_string(shape.hidden);
  metadata["window"] = std::to_string(shape.window);
  metadata["token_dims"] = std::to_string(model.tokens.dims);
  metadata["decays"] = decays_text();
  std::vector<nn::TensorToWrite> tensors;
  if (model.tokens.dims > 0) {
    std::vector<float> values(model.tokens.values.size());
    std::transform(model.tokens.values.begin(), model.tokens.values.end(), values.begin(), from_bf16);
    tensors.push_back(tensor("tokens", values.data(), model.tokens.vocab, model.tokens.dims, model.tokens.dims));
  }
  for (int i = 0; i < shape.layers(); ++i) {
    const Network& n = model.networks[i];
    const std::string name = fmt::format("layers.{}.", shape.moe_layers[i]);
    const int columns = n.shape.hidden + n.shape.experts;
    tensors.push_back(tensor(name + "input", n.input.data(), n.shape.inputs(), columns, n.shape.columns()));
    tensors.push_back(tensor(name + "bias", n.bias.data(), 1, columns, n.shape.columns()));
    tensors.push_back(
        tensor(name + "output", n.output.data(), n.shape.hidden, n.shape.experts, n.shape.score_columns()));
  }
  return nn::safetensors_bytes(metadata, tensors);
}

CascadeModel read_predictor(const std::filesystem::path& path) {
  Reader file(path);
  CascadeModel model;
  model.shape = read_shape(file);
  model.tokens.dims = file.integer("token_dims", 0, kMostDims);
  if (model.tokens.dims > 0) {
    const std::int64_t vocab = file.rows_of("tokens");
    if (vocab < 1 || vocab > kMostVocab)
      file.fail(fmt::format("tensor tokens has {} rows, expected 1 to {}", vocab, kMostVocab));
    model.tokens.vocab = static_cast<int>(vocab);
    file.read("tokens", model.tokens.vocab, model.tokens.dims, model.tokens.values);
  }
  for (int i = 0; i < model.shape.layers(); ++i) {
    const NetworkShape shape = FeatureLayout(model.shape, model.tokens.dims, i).network(model.shape.hidden);
    const std::string name = fmt::format("layers.{}.", model.shape.moe_layers[i]);
    const int columns = shape.hidden + shape.experts;
    file.check(name + "input", {shape.inputs(), columns});  // before anything is made of that size
    Network n = make_network(shape);
    file.read(name + "input", shape.inputs(), columns, n.input.data(), shape.columns());
    file.read(name + "bias", 1, columns, n.bias.data(), shape.columns());
    file.read(name + "output", shape.hidden, shape.experts, n.output.data(), shape.score_columns());
    model.networks.push_back(std::move(n));
  }
  file.end();
  model.facts = std::move(file).metadata();
  return model;
}

}  // namespace afore::predict
