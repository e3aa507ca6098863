#include "predictor_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

#include "common/record_stream.h"
#include "predict/model.h"
#include "util/error.h"

namespace afore::cli {
namespace {

constexpr double kTestShare = 0.2;
constexpr double kCheckShare = 0.1;  // of the requests that are not tested

struct Input {
  std::string name, path;
};

// "math=path" or a path, whose name is that of the file up to the first dot.
Input parse_input(const std::string& text) {
  const auto equals = text.find('=');
  if (equals != std::string::npos && equals > 0 && text.find('/') > equals)
    return {text.substr(0, equals), text.substr(equals + 1)};
  const std::string file = text.substr(text.rfind('/') + 1);
  return {file.substr(0, file.find('.')), text};
}

// FNV-1a, and its bits mixed (splitmix64's finish): the same share of requests on every machine.
double share_of(const std::string& request) {
  std::uint64_t hash = 0xCBF29CE484222325;
  for (const char c : request) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3;
  hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9;
  hash = (hash ^ hash >> 27) * 0x94D049BB133111EB;
  return static_cast<double>((hash ^ hash >> 31) >> 11) * 0x1p-53;
}

void require(const ModelSpec& model, const std::string& source) {
  if (model.moe_layers.empty() || model.experts == kAbsent || model.top_k == kAbsent)
    throw Error(ErrorKind::data, source + ": the header does not say the model's MoE layers, experts and top_k");
  if (std::ssize(model.moe_layers) > predict::kMostLayers || model.experts > predict::kMostExperts ||
      model.top_k > predict::kMostTopK)
    throw Error(ErrorKind::data,
                fmt::format("{}: {} MoE layers, {} experts, top_k {}: more than a predictor can have", source,
                            model.moe_layers.size(), model.experts, model.top_k),
                fmt::format("at most {} layers, {} experts, top_k {}", predict::kMostLayers, predict::kMostExperts,
                            predict::kMostTopK));
}

bool same_model(const ModelSpec& a, const ModelSpec& b) {
  return a.moe_layers == b.moe_layers && a.experts == b.experts && a.top_k == b.top_k;
}

class Loader {
 public:
  explicit Loader(const PredictorDataOptions& options) : options_(options) {}

  void read(const Input& input) {
    RecordStream in(input.path, read_options(0, true), recover_of(options_.recover), Progress::Output::at_end);
    bool started = false;
    while (in.next()) {
      const auto* batch = std::get_if<Batch>(&in.record());
      const auto* routing = std::get_if<Routing>(&in.record());
      if (batch == nullptr && routing == nullptr) continue;
      if (!started) start(in, input.path);
      started = true;
      try {
        if (batch != nullptr)
          builder_->add(*batch, [&](const std::string& request) { return part_of(input.name, request); });
        else builder_->add(*routing);
      } catch (const Error& error) {
        throw Error(error.kind(), fmt::format("{}:{}: {}", in.lines().name(), in.line_number(), error.what()),
                    error.hint());
      }
    }
  }

  PredictorData take() {
    if (!builder_) throw Error(ErrorKind::data, "there is no batch in the input", kHint);
    PredictorData all{shape_, model_, {}, 0, 0, 0};
    all.train_requests = builder_->requests(predict::Part::train);
    all.check_requests = builder_->requests(predict::Part::check);
    all.test_requests = builder_->requests(predict::Part::test);
    all.data = builder_->take();
    if (all.data.rows() == 0)
      throw Error(ErrorKind::data,
                  "no step of the input says which tokens its rows are and what each layer chose for them", kHint);
    if (all.data.rows_of(predict::Part::train) == 0)
      throw Error(ErrorKind::data, "no request is left to learn from", "give more requests, or less --test-share");
    return all;
  }

 private:
  static constexpr const char* kHint = "afore-trace record --routing and import --rows write both";

  void start(const RecordStream& in, const std::string& path) {
    const ModelSpec model = in.header() ? in.header()->model : ModelSpec{};
    require(model, in.header() ? path : path + " has no header");
    if (!builder_) {
      model_ = model;
      shape_ = {model.name,
                model.moe_layers,
                static_cast<int>(model.experts),
                static_cast<int>(model.top_k),
                static_cast<int>(options_.hidden),
                static_cast<int>(std::min<std::int64_t>(options_.window, std::ssize(model.moe_layers) - 1))};
      builder_.emplace(shape_);
    } else if (!same_model(model, model_)) {
      throw Error(ErrorKind::data, path + ": another model than the first stream's",
                  "a predictor is of one model: its MoE layers, experts and top_k");
    }
    builder_->begin_stream();
  }

  // Requests of one name in one domain go together, whichever stream they are in: they are one prompt, which record
  // repeats as "name#2".
  predict::Part part_of(const std::string& domain, const std::string& request) const {
    const bool of_domain = !domain.empty() && domain == options_.test_domain;
    const double share = share_of(domain + "/" + request.substr(0, request.find('#')));
    const double tested = options_.test_domain.empty() ? options_.test_share.value_or(kTestShare) : 0;
    if (of_domain || share < tested) return predict::Part::test;
    return (share - tested) / (1 - tested) < kCheckShare ? predict::Part::check : predict::Part::train;
  }

  const PredictorDataOptions& options_;
  ModelSpec model_;
  predict::PredictorShape shape_;
  std::optional<predict::DatasetBuilder> builder_;
};

}  // namespace

void check_output_is_no_input(const PredictorDataOptions& options, const std::string& output) {
  for (const std::string& text : options.inputs) {
    std::error_code missing;
    if (std::filesystem::equivalent(parse_input(text).path, output, missing))
      throw Error(ErrorKind::usage, fmt::format("--output {}: it is an input, too", output), "give another name");
  }
}

PredictorData load_predictor_data(const PredictorDataOptions& options) {
  std::vector<Input> inputs;
  for (const std::string& text : options.inputs) inputs.push_back(parse_input(text));
  if (!options.test_domain.empty() &&
      std::none_of(inputs.begin(), inputs.end(), [&](const Input& i) { return i.name == options.test_domain; }))
    throw Error(ErrorKind::usage, fmt::format("--test-domain: no input is called {}", options.test_domain),
                "name them: NAME=STREAM");
  Loader loader(options);
  for (const Input& input : inputs) loader.read(input);
  return loader.take();
}

}  // namespace afore::cli
