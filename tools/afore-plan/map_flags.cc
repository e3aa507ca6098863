#include "afore-plan/map_flags.h"

#include <fmt/format.h>

#include "afore-plan/counted.h"
#include "util/error.h"

namespace afore::plan {

void add_model_flags(cli::Command app, cli::ModelFlags& flags) {
  const auto optional_int = [&](const char* name, std::int64_t& value, const char* help, std::int64_t most) {
    app.integer(name, value, help, 1, most).hide_default().under("model");
  };
  app.option("--model", flags.model, "Preset of the model's shape and sizes").under("model");
  optional_int("--experts", flags.experts, "Routed experts per MoE layer", 1 << 16);
  optional_int("--hidden-layers", flags.hidden_layers, "Layers, dense ones included", 1 << 16);
  app.option("--moe-layers", flags.moe_layers, "Which of them are MoE layers, like 3-60").under("model");
  optional_int("--expert-bytes", flags.expert_bytes, "Weights of one expert as stored", std::int64_t{1} << 50);
}

namespace {

std::string bytes_text(double bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  int unit = 0;
  while (bytes >= 1024 && unit < 5) bytes /= 1024, ++unit;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.4g} {}", bytes, kUnits[unit]);
}

}  // namespace

std::string redundancy_text(std::int64_t slots, std::int64_t experts, std::int64_t workers, std::int64_t moe_layers,
                            std::int64_t expert_bytes) {
  const std::int64_t redundant = slots - experts;
  if (redundant <= 0) return "no redundant slots";
  std::string text = counted(redundant, "redundant slot") + " per layer";
  if (expert_bytes == kAbsent) return text + " (how many bytes: --model or --expert-bytes)";
  const double layer = static_cast<double>(redundant) * static_cast<double>(expert_bytes);
  const double all = layer * static_cast<double>(moe_layers);
  text += fmt::format(": {} x {} = {} in all", bytes_text(layer), counted(moe_layers, "layer"), bytes_text(all));
  if (workers > 0) text += fmt::format(", {} per worker", bytes_text(all / static_cast<double>(workers)));
  return text;
}

}  // namespace afore::plan
