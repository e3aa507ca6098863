#include "nn/model.h"

#include <algorithm>
#include <bit>
#include <vector>

#include "nn/bf16.h"
#include "util/rng.h"

namespace afore::nn {
namespace {

constexpr float kDeviation = 0.02f;  // as models are initialised before they are trained

std::uint16_t bf16_of(float value) { return round_to_bf16(std::bit_cast<std::uint32_t>(value)); }

class MadeUp {
 public:
  MadeUp(std::int64_t largest_matrix, std::int64_t longest_vector, std::uint64_t seed)
      : table_(static_cast<std::size_t>(largest_matrix + kPlaces)),
        ones_(static_cast<std::size_t>(longest_vector), bf16_of(1)),
        zeros_(static_cast<std::size_t>(longest_vector), 0),
        seed_(seed) {
    Rng rng(seed, "weights");
    // A normal draw a value takes minutes at real sizes; a short row of them, repeated at odd distances, does not.
    std::vector<std::uint16_t> values(kValues);
    for (std::uint16_t& value : values) value = bf16_of(kDeviation * static_cast<float>(rng.normal()));
    for (std::uint16_t& element : table_) element = values[rng.next() & (kValues - 1)];
  }

  Tensor find(const std::string& name, std::span<const std::int64_t> shape) const {
    Tensor tensor;
    tensor.name = name;
    tensor.file = "random weights";
    tensor.shape.assign(shape.begin(), shape.end());
    const std::uint16_t* from = nullptr;
    if (shape.size() > 1) from = table_.data() + Rng(seed_, name).below(kPlaces);
    else from = name.ends_with("norm.weight") ? ones_.data() : zeros_.data();
    tensor.bytes = std::as_bytes(std::span(from, static_cast<std::size_t>(tensor.count())));
    return tensor;
  }

 private:
  static constexpr std::int64_t kPlaces = std::int64_t{1} << 20;
  static constexpr std::size_t kValues = std::size_t{1} << 16;
  std::vector<std::uint16_t> table_, ones_, zeros_;
  std::uint64_t seed_;
};

}  // namespace

Model open_model(const std::filesystem::path& folder) {
  Model model;
  model.config = read_config(folder);
  const auto checkpoint = std::make_shared<const Checkpoint>(folder);
  model.tensors = bind_tensors(*checkpoint, model.config);
  model.memory = checkpoint;
  return model;
}

Model random_model(const ModelConfig& config, std::uint64_t seed) {
  const std::int64_t hidden = config.hidden, heads = std::int64_t{config.heads} * config.head_dim;
  const std::int64_t rows = std::max<std::int64_t>({config.vocab, heads, config.dense_intermediate, config.gate.experts,
                                                    config.moe_intermediate, config.shared_intermediate});
  const auto values =
      std::make_shared<const MadeUp>(rows * hidden, std::max<std::int64_t>({hidden, heads, config.gate.experts}), seed);
  Model model;
  model.config = config;
  model.tensors = bind_tensors(
      [&](const std::string& name, std::span<const std::int64_t> shape) { return values->find(name, shape); }, config);
  model.memory = values;
  return model;
}

}  // namespace afore::nn
