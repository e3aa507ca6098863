#pragma once
// The model that a run computes: a folder's, or made-up weights of a model's sizes.
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>

#include "common/options.h"
#include "core/model_spec.h"
#include "host/model_runner.h"

namespace CLI {
class App;
}

namespace afore::cli {

struct ModelSourceFlags {
  std::string model;    // folder; empty: the bundled one
  std::string weights;  // "random:NAME", NAME a bundled config or a folder with config.json; empty: the folder's
  std::int64_t layers = kAbsent, seed = 0;
};

void add_model_source_flags(Command app, ModelSourceFlags& flags);

// Error{usage} for flags that contradict each other; otherwise as nn::open_model(). Made-up models speak with the
// bundled model's tokenizer.
std::unique_ptr<host::LoadedModel> load_model(const ModelSourceFlags& flags);
// Where its tokenizer and its chat template are.
std::filesystem::path tokenizer_folder(const ModelSourceFlags& flags);

}  // namespace afore::cli
