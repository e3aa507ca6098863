#pragma once
// What a layer's network sees of a token, as numbers. Training and prediction both lay them out by this.
//
//   dense values, in order:  the token's vector, those of the tokens before it (kTokensBack), decayed means of all
//                            vectors before it (kTokenDecays); how often the request's earlier tokens took each expert
//                            of this layer, as a decayed mean
//   rows that are on:        the experts of this layer that the request's last token took, [experts]; then those of the
//                            token itself in the MoE layers before, nearest first, [experts] each
//
// Earlier tokens count from steps before this one: of a prompt's chunk nobody knows the routing of a layer ahead of it.
// What is not known is 0 and off.
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "predict/network.h"

namespace afore::predict {

inline constexpr int kTokensBack = 2;
inline constexpr std::array<float, 2> kTokenDecays = {0.6F, 0.9F};
inline constexpr float kRoutingDecay = 0.8F;

// Vectors of the vocabulary, narrow ones made of the model's embedding. Values are bf16 in their upper halves.
struct TokenTable {
  int vocab = 0, dims = 0;            // 0: tokens are not looked at
  std::vector<std::uint16_t> values;  // [vocab][dims]
};

struct PredictorShape {
  std::string model;            // its name, for people
  std::vector<int> moe_layers;  // absolute, ascending
  int experts = 0, top_k = 0;
  int hidden = 0;  // of each network, a multiple of kLanes
  int window = 0;  // MoE layers before a layer whose routing it sees, at most

  int layers() const { return static_cast<int>(moe_layers.size()); }
};

// Where the features of MoE layer `ordinal` stand.
struct FeatureLayout {
  int token_values = 0;  // dense ones that are of tokens
  int experts = 0, top_k = 0;
  int preceding = 0;  // MoE layers of the token itself

  FeatureLayout(const PredictorShape& shape, int token_dims, int ordinal);
  NetworkShape network(int hidden) const;
  int dense() const { return token_values + experts; }
  int on_per_token() const { return top_k * (1 + preceding); }
};

// A decayed mean of what came so far: sum / weight, 0 at first.
inline float decayed_weight(float weight, float decay) { return decay * weight + (1 - decay); }
// Takes a token's experts into the mean of a request's routing.
void add_routing(std::span<const std::uint16_t> experts, std::span<float> sum, float& weight);

inline int token_values(int dims) { return (1 + kTokensBack + static_cast<int>(kTokenDecays.size())) * dims; }

// The last tokens of a request and the means of all of them.
class TokenContext {
 public:
  // `dims` of the table that add() and write() get; 0 is fine.
  explicit TokenContext(int dims);
  void clear();
  // The token_values() of `token`, which comes next (kOff or out of the vocabulary: unknown).
  void write(const TokenTable& table, std::int64_t token, std::span<float> out) const;
  void add(const TokenTable& table, std::int64_t token);

 private:
  std::array<std::int64_t, kTokensBack> last_{};  // nearest first
  std::array<float, kTokenDecays.size()> weights_{};
  std::vector<float> sums_;  // [decays][dims]
};

}  // namespace afore::predict
