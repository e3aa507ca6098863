#include "afore-migrate/shape_flags.h"

#include <filesystem>

#include "common/presets.h"
#include "core/model_spec.h"
#include "nn/config.h"
#include "util/error.h"

namespace afore::cli {
namespace {

constexpr std::int64_t kMaxSize = 1 << 20;

ModelSpec load_model(const std::string& name) {
  const std::filesystem::path path(name);
  if (std::filesystem::is_directory(path)) return nn::model_spec(nn::read_config(path));
  if (std::filesystem::exists(path)) {
    if (path.filename() != "config.json")
      throw Error(ErrorKind::usage, "--model " + name + ": not a config.json",
                  "name a preset, or a checkpoint's folder");
    return nn::model_spec(nn::read_config(path.has_parent_path() ? path.parent_path() : "."));
  }
  return load_model_preset(name);
}

}  // namespace

void add_shape_flags(Command app, ShapeFlags& flags) {
  app.option("--model", flags.model, "Whose experts: a preset, or a checkpoint's folder or config.json")
      .value_name("NAME|FILE");
  app.integer("--hidden", flags.hidden, "Hidden size of an expert, over --model's", 1, kMaxSize);
  app.integer("--intermediate", flags.intermediate, "Intermediate size of an expert, over --model's", 1, kMaxSize);
  app.integer("--tile-tokens", flags.tile_tokens, "Rows of a tile: 8 on cpu; 16, 32 or 64 on cuda (default 16)", 1,
              1 << 20)
      .hide_default();
}

device::ExpertSizes expert_sizes(const ShapeFlags& flags) {
  ModelSpec model;
  if (!flags.model.empty()) model = load_model(flags.model);
  const device::ExpertSizes sizes{flags.hidden > 0 ? flags.hidden : model.hidden,
                                  flags.intermediate > 0 ? flags.intermediate : model.moe_intermediate};
  if (sizes.hidden <= 0 || sizes.intermediate <= 0)
    throw Error(ErrorKind::usage, "how large an expert is is not known",
                "give --model, or both --hidden and --intermediate");
  return sizes;
}

}  // namespace afore::cli
