#pragma once
// Routing logs of a patched engine, one JSON line per token and layer: {"token_idx": t, "topk_ids": [...]}, with
// "layer", "req_id", "topk_weights" where the logger has them and a {"type": "meta", "top_k", "layers_logged", ...}
// line first (github.com/weiran0129/vLLM-MoE-Logger, moe_logger.py). token_idx counts from 0 in each forward pass, so
// that a fall of it begins the next one.
#include <string>
#include <string_view>
#include <vector>

#include "wire/foreign/tables.h"

namespace afore::wire {

// Reads line after line. Passes whose tokens all chose the same experts in the same order, kDummyTokens of them or
// more, are the engine's profiling run on dummy tokens: marked as warm-up. Ids are logical, the layers keyed.
class RouteLog {
 public:
  static constexpr std::int64_t kDummyTokens = 8;

  explicit RouteLog(std::string source) : source_(std::move(source)) {}
  void read_line(std::string_view line, std::int64_t line_number);
  // Error{data}: no rows, or layers whose passes do not match (a token with routing in one layer and not in another).
  RoutingFile finish();

 private:
  struct Layer {
    std::int64_t layer = 0, next_token = 0;
    std::vector<std::int64_t> pass_tokens;  // by pass
    std::vector<std::int32_t> ids;          // [tokens][top_k]
  };
  Layer& layer_of(std::int64_t layer);

  std::string source_;
  std::int64_t top_k_ = 0;
  bool any_ = false;
  std::vector<Layer> layers_;  // ascending by layer
};

}  // namespace afore::wire
