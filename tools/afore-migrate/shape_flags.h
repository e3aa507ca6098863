#pragma once
// The sizes of an expert, and the tile of its FFN.
#include <cstdint>
#include <string>

#include "common/options.h"
#include "device/transfers.h"

namespace afore::cli {

struct ShapeFlags {
  std::string model;
  std::int64_t hidden = 0, intermediate = 0, tile_tokens = 0;  // 0 = not given
  bool given() const { return !model.empty() || hidden > 0 || intermediate > 0; }
};
void add_shape_flags(Command app, ShapeFlags& flags);

// --model's sizes with --hidden and --intermediate over them. Error{usage} when one is unknown.
device::ExpertSizes expert_sizes(const ShapeFlags& flags);

}  // namespace afore::cli
