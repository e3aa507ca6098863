#include "common/model_source.h"

#include <fmt/format.h>

#include <algorithm>

#include "common/data_files.h"
#include "util/error.h"

namespace afore::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRandom = "random:";
constexpr const char* kTiny = "models/tiny";

fs::path config_folder(const std::string& name) {
  std::error_code error;
  if (fs::exists(fs::path(name) / "config.json", error)) return name;
  const std::string bundled = "data/configs/" + name;
  if (!name.empty() && name.find('/') == std::string::npos) {
    try {
      return data_file(bundled);
    } catch (const Error&) {
      // The message below says more.
    }
  }
  throw Error(ErrorKind::usage, fmt::format("--weights random:{}: no such config", name),
              "glm-4.5-air, qwen3-30b-a3b, or a folder that has a config.json");
}

void cut_layers(nn::ModelConfig& config, std::int64_t layers) {
  if (layers > config.layers)
    throw Error(ErrorKind::usage, fmt::format("--layers {}: {} has {}", layers, config.name, config.layers));
  config.layers = static_cast<int>(layers);
  config.is_moe.resize(static_cast<std::size_t>(layers));
  if (std::find(config.is_moe.begin(), config.is_moe.end(), true) == config.is_moe.end())
    throw Error(ErrorKind::usage, fmt::format("--layers {}: none of them has experts", layers), "take one more");
}

nn::Model made_up(const ModelSourceFlags& flags) {
  if (!flags.weights.starts_with(kRandom))
    throw Error(ErrorKind::usage, fmt::format("--weights {}: no such kind of weights", flags.weights),
                "random:NAME makes them up; a checkpoint's are read with --model");
  if (!flags.model.empty())
    throw Error(ErrorKind::usage, "--model and --weights are two models", "leave one of them out");
  nn::ModelConfig config = nn::read_config(config_folder(flags.weights.substr(kRandom.size())));
  if (flags.layers != kAbsent) cut_layers(config, flags.layers);
  config.name += " (random weights)";
  config.eos_ids.clear();  // no text ends by itself
  return nn::random_model(config, static_cast<std::uint64_t>(flags.seed));
}

}  // namespace

void add_model_source_flags(Command app, ModelSourceFlags& flags) {
  app.option("--model", flags.model,
             "Folder with config.json, safetensors and tokenizer.json (default: the "
             "bundled one)")
      .value_name("DIR");
  app.option("--weights", flags.weights,
             "random:NAME: made-up weights of a model's sizes (glm-4.5-air, qwen3-30b-a3b, or a folder with "
             "config.json), to measure without a download")
      .value_name("random:NAME");
  app.integer("--layers", flags.layers, "Made-up weights: the first N layers alone", 1, 100'000);
}

fs::path tokenizer_folder(const ModelSourceFlags& flags) {
  return flags.model.empty() ? data_file(kTiny) : fs::path(flags.model);
}

std::unique_ptr<host::LoadedModel> load_model(const ModelSourceFlags& flags) {
  if (!flags.weights.empty()) return std::make_unique<host::LoadedModel>(made_up(flags), tokenizer_folder(flags));
  if (flags.layers != kAbsent)
    throw Error(ErrorKind::usage, "--layers is for made-up weights", "give --weights random:NAME");
  return std::make_unique<host::LoadedModel>(tokenizer_folder(flags));
}

}  // namespace afore::cli
