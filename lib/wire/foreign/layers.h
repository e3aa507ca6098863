#pragma once
// Which layers the rows of a foreign table are, from what the file says and what the user does. Nothing is guessed:
// where both leave it open, Error{usage} asks for the flag.
#include <string>
#include <vector>

#include "core/model_spec.h"
#include "wire/foreign/tables.h"

namespace afore::wire {

struct LayerRows {
  std::int64_t hidden_layers = kAbsent;  // of the model, where known
  std::vector<int> rows;                 // positions of the MoE rows in the table, by layer
  std::vector<int> moe_layers;           // their absolute layers, ascending
  std::vector<int> dense_rows;           // rows left out
};

// `model`: what flags and presets say (layers, moe_layers; either may be absent). `axis`: the file's, or the user's
// where that is unsaid. `keyed`: absolute layer of each row. `empty_rows`: rows without any count, which are dense
// where the rows are hidden layers and nothing else says so; null for maps, whose dense rows are as full as the others.
LayerRows resolve_layers(LayerAxis axis, std::int64_t rows, const std::vector<std::int64_t>& keyed,
                         const ModelSpec& model, const std::vector<bool>* empty_rows, const std::string& source);

}  // namespace afore::wire
