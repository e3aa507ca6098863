#include "device/cpu/quantised_weights.h"

#include <bit>
#include <cstring>
#include <functional>

#include "device/cpu/thread_pool.h"
#include "nn/bf16.h"
#include "util/error.h"

namespace afore::device::cpu {
namespace {

constexpr int kLanes = nn::kQuantisedPanel;
static_assert(kLanes == kPanel, "a quantised panel is unpacked into one of the kernels'");

using Lane = std::uint32_t[kLanes];

// Two consecutive inputs of each row of a panel: a line of packed weights. The compiler makes vectors of it.
void unpack_line(const std::uint8_t* codes, const float* scales, const float* zeros, std::byte* out) {
  Lane line;
  for (int r = 0; r < kLanes; ++r) {
    const float first = (static_cast<float>(codes[r] & 15) - zeros[r]) * scales[r];
    const float second = (static_cast<float>(codes[r] >> 4) - zeros[r]) * scales[r];
    const std::uint32_t low = nn::round_to_bf16(std::bit_cast<std::uint32_t>(first));
    const std::uint32_t high = nn::round_to_bf16(std::bit_cast<std::uint32_t>(second));
    line[r] = low | high << 16;
  }
  std::memcpy(out, line, sizeof(line));
}

void for_each(ThreadPool* pool, std::size_t count, const std::function<void(std::int64_t)>& act) {
  if (pool == nullptr)
    for (std::size_t i = 0; i < count; ++i) act(static_cast<std::int64_t>(i));
  else pool->run(static_cast<std::int64_t>(count), [&](std::int64_t i, int) { act(i); });
}

struct Unpacking {
  const nn::QuantisedMatrix* from = nullptr;
  std::byte* to = nullptr;
};

template <class Mlp>
void add_block(const Mlp& mlp, const ExpertShape& shape, std::byte* block, std::vector<Unpacking>& work) {
  work.push_back({&mlp.gate, block});
  work.push_back({&mlp.up, block + shape.up_bytes()});
  work.push_back({&mlp.down, block + 2 * shape.up_bytes()});
}

void run(const std::vector<Unpacking>& work, ThreadPool* pool) {
  for_each(pool, work.size(), [&](std::int64_t i) { unpack(*work[i].from, work[i].to); });
}

std::byte* room(Block& block, std::size_t bytes) {
  if (block.bytes() < bytes) block = Block(bytes);
  return block.data();
}

}  // namespace

void unpack(const nn::QuantisedMatrix& matrix, std::byte* out) {
  const std::int64_t groups = matrix.groups(), pairs = matrix.pairs(), pairs_of_group = matrix.group / 2;
  const std::uint8_t* codes = matrix.codes.data();
  for (std::int64_t place = 0; place < matrix.panels() * groups; ++place) {
    float scales[kLanes], zeros[kLanes];
    for (std::int64_t r = 0; r < kLanes; ++r) {
      const std::int64_t at = place * kLanes + r;
      scales[r] = std::bit_cast<float>(static_cast<std::uint32_t>(matrix.scales[at]) << 16);
      zeros[r] = static_cast<float>(matrix.zeros[at / 2] >> (r % 2 * 4) & 15);
    }
    const std::int64_t first = place % groups * pairs_of_group, last = std::min(pairs, first + pairs_of_group);
    for (std::int64_t pair = first; pair < last; ++pair) {
      unpack_line(codes, scales, zeros, out);
      codes += kLanes;
      out += sizeof(Lane);
    }
  }
}

void QuantisedWeights::add(const nn::MlpTensors& from, Mlp& to, std::vector<Source>& sources) {
  sources.push_back({{&from.gate}, &to.gate});
  sources.push_back({{&from.up}, &to.up});
  sources.push_back({{&from.down}, &to.down});
}

QuantisedWeights::QuantisedWeights(const nn::Model& model, ThreadPool* pool) : config_(model.config) {
  const std::vector<int> moe_layers = nn::model_spec(config_).moe_layers;
  layers_.resize(static_cast<std::size_t>(moe_layers.back()) + 1);
  std::vector<Source> sources;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const nn::LayerTensors& from = model.tensors.layers[i];
    Layer& to = layers_[i];
    sources.push_back({{&from.q, &from.k, &from.v}, &to.qkv});
    sources.push_back({{&from.o}, &to.o});
    if (const auto& mlp = from.dense ? from.dense : from.shared; mlp) add(*mlp, to.mlp.emplace_back(), sources);
    if (i + 1 == layers_.size()) break;
    to.experts.resize(from.experts.size());
    for (std::size_t e = 0; e < from.experts.size(); ++e) add(from.experts[e], to.experts[e], sources);
  }
  for_each(pool, sources.size(), [&](std::int64_t i) {
    std::vector<std::uint16_t> rows;
    for (const nn::Tensor* tensor : sources[i].tensors) {
      const std::size_t from = rows.size();
      rows.resize(from + static_cast<std::size_t>(tensor->count()));
      nn::read_bf16(*tensor, 0, std::span(rows).subspan(from));
    }
    const std::int64_t k = sources[i].tensors[0]->shape[1];
    *sources[i].to = nn::quantise(rows, std::ssize(rows) / k, k, kGroup);
  });
}

void QuantisedWeights::unpack_layer(int layer, AttentionLayer& out, ThreadPool* pool) const {
  const Layer& from = layers_[layer];
  std::vector<Unpacking> work;
  work.push_back({&from.qkv, room(out.qkv, packed_bytes(from.qkv.n, from.qkv.k))});
  work.push_back({&from.o, room(out.o, packed_bytes(from.o.n, from.o.k))});
  for (const Mlp& mlp : from.mlp) {
    const ExpertShape shape{mlp.gate.k, mlp.gate.n};
    add_block(mlp, shape, room(out.mlp, shape.bytes()), work);
  }
  run(work, pool);
}

void QuantisedWeights::unpack_experts(int layer, std::span<const int> experts, std::byte* out, ThreadPool* pool) const {
  const ExpertShape shape = expert_shape(config_);
  std::vector<Unpacking> work;
  for (const int expert : experts) {
    add_block(layers_[layer].experts[expert], shape, out, work);
    out += shape.bytes();
  }
  run(work, pool);
}

std::int64_t QuantisedWeights::bytes() const {
  const auto of = [](const Mlp& mlp) { return mlp.gate.bytes() + mlp.up.bytes() + mlp.down.bytes(); };
  std::int64_t bytes = 0;
  for (const Layer& layer : layers_) {
    bytes += layer.qkv.bytes() + layer.o.bytes();
    for (const Mlp& mlp : layer.mlp) bytes += of(mlp);
    for (const Mlp& mlp : layer.experts) bytes += of(mlp);
  }
  return bytes;
}

}  // namespace afore::device::cpu
