#include "common/model_flags.h"

#include <fmt/format.h>

#include "common/parse.h"
#include "common/presets.h"
#include "util/error.h"

namespace afore::cli {
namespace {

void refuse_other(const char* flag, std::int64_t given, std::int64_t known) {
  if (given > 0 && known != kAbsent && given != known)
    throw Error(ErrorKind::usage, fmt::format("{} {}, but the stream's header says {}", flag, given, known),
                "leave the flag out");
}

}  // namespace

ModelSpec model_of(const ModelFlags& flags) {
  ModelSpec model;
  if (!flags.model.empty()) model = load_model_preset(flags.model);
  const auto over = [](std::int64_t& value, std::int64_t given) {
    if (given > 0) value = given;
  };
  over(model.experts, flags.experts);
  over(model.layers, flags.hidden_layers);
  over(model.expert_bytes, flags.expert_bytes);
  over(model.top_k, flags.top_k);
  if (!flags.moe_layers.empty()) model.moe_layers = parse_int_list(flags.moe_layers, "--moe-layers");
  if (model.layers != kAbsent && !model.moe_layers.empty() && model.moe_layers.back() >= model.layers)
    throw Error(ErrorKind::usage,
                fmt::format("MoE layer {} of a model of {} layers", model.moe_layers.back(), model.layers),
                "layers count from 0; --hidden-layers counts dense ones, too");
  return model;
}

ModelSpec with_header(const ModelFlags& flags, const ModelSpec& header) {
  refuse_other("--experts", flags.experts, header.experts);
  refuse_other("--hidden-layers", flags.hidden_layers, header.layers);
  refuse_other("--expert-bytes", flags.expert_bytes, header.expert_bytes);
  const ModelSpec given = model_of(flags);
  if (!flags.model.empty() && header.experts != kAbsent && given.experts != header.experts)
    throw Error(
        ErrorKind::usage,
        fmt::format("{} has {} experts, the stream's header says {}", flags.model, given.experts, header.experts),
        "is --model the right one?");
  if (!flags.moe_layers.empty() && !header.moe_layers.empty() && given.moe_layers != header.moe_layers)
    throw Error(ErrorKind::usage, "--moe-layers says other layers than the stream's header", "leave the flag out");
  ModelSpec model = header;
  fill_absent(model, given);
  return model;
}

}  // namespace afore::cli
