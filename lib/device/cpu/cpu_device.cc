#include "device/cpu/cpu_device.h"

#include <algorithm>
#include <cstring>
#include <thread>

#include "device/cpu/expert_side.h"
#include "device/cpu/thread_pool.h"
#include "migrate/arena.h"
#include "util/error.h"

namespace afore::device::cpu {
namespace {

// A large expert moves in pieces, so that whoever serves the lane looks at other things in between.
constexpr std::size_t kCopyPieceBytes = 256 << 10;

class CpuExperts final : public ExpertWorker {
 public:
  CpuExperts(const Kernels& kernels, const nn::Model& model, const DeviceOptions& options,
             const std::vector<Block>& everywhere, int worker, std::int64_t slots, std::shared_ptr<ThreadPool> pool)
      : model_(model),
        everywhere_(everywhere),
        mode_(options.combine),
        worker_(worker),
        arena_(slots * stride(model)),
        pool_(std::move(pool)),
        experts_(kernels, expert_shape(model.config), model.config.gate.top_k, pool_.get()) {
    arena_.cut(static_cast<std::int64_t>(expert_shape(model.config).bytes()));
  }

  void load(std::int64_t slot, int layer, int expert) override {
    load_expert(model_, layer, expert, arena_.slot(slot).data());
  }

  std::vector<std::byte> read(std::int64_t slot) override {
    const std::span<const std::byte> bytes = arena_.slot(slot);
    return {bytes.begin(), bytes.end()};
  }

  Ticket run(std::span<Step* const> steps, std::span<const RowShare> shares) override {
    shares_.clear();
    for (const RowShare& share : shares)
      shares_.push_back({share.expert, share.first, share.tokens, block(share.slot)});
    experts_.run(steps, shares_, mode_, worker_);
    return 0;
  }
  void wait(Ticket) override {}

  Ticket copy(ExpertWorker& from, std::int64_t from_slot, std::int64_t to_slot) override {
    AFORE_CHECK(copied_ == to_.size(), "two copies at once into a worker");
    from_ = static_cast<CpuExperts&>(from).arena_.slot(from_slot);
    to_ = arena_.slot(to_slot);
    copied_ = 0;
    return ++copies_;
  }
  bool poll(Ticket copy) override {
    if (copy < copies_ || copied_ == to_.size()) return true;
    const std::size_t piece = std::min(kCopyPieceBytes, to_.size() - copied_);
    std::memcpy(to_.data() + copied_, from_.data() + copied_, piece);
    copied_ += piece;
    return copied_ == to_.size();
  }
  bool polls_move() const override { return true; }

 private:
  static std::int64_t stride(const nn::Model& model) {
    return migrate::slot_stride(static_cast<std::int64_t>(expert_shape(model.config).bytes()));
  }
  const std::byte* block(std::int64_t slot) {
    if (slot >= 0) return arena_.slot(slot).data();
    AFORE_CHECK(!everywhere_.empty(), "a plan owns no slots, and no weights are held for such");
    return everywhere_[static_cast<std::size_t>(-1 - slot)].data();
  }

  const nn::Model& model_;
  const std::vector<Block>& everywhere_;
  Combine mode_;
  int worker_;
  migrate::Arena arena_;
  std::shared_ptr<ThreadPool> pool_;
  ExpertSide experts_;
  std::vector<PackedShare> shares_;
  // The copy lane.
  std::span<const std::byte> from_;
  std::span<std::byte> to_;
  std::size_t copied_ = 0;
  Ticket copies_ = 0;
};

}  // namespace

CpuDevice::CpuDevice(const nn::Model& model, const AttentionWeights& weights, const DeviceOptions& options, Isa isa,
                     int worker_threads)
    : kernels_(Kernels::of(isa)),
      model_(model),
      weights_(weights),
      options_(options),
      worker_threads_(worker_threads),
      rotary_(model.config.rotary_dim, model.config.rope_theta, model.config.max_positions) {
  AFORE_CHECK(options.tile_tokens == kTileTokens, "plans count in another tile than the device");
}

std::shared_ptr<ThreadPool> CpuDevice::make_pool() const {
  return worker_threads_ == 1 ? nullptr : std::make_shared<ThreadPool>(worker_threads_);
}

std::unique_ptr<Attention> CpuDevice::make_attention(int) {
  return std::make_unique<AttentionSide>(kernels_, weights_, rotary_, options_.kv_budget_tokens / kPageTokens,
                                         options_.combine, options_.ffn_workers, make_pool());
}

std::unique_ptr<ExpertWorker> CpuDevice::make_experts(int worker, std::int64_t slots) {
  return std::make_unique<CpuExperts>(kernels_, model_, options_, everywhere_, worker, slots, make_pool());
}

void CpuDevice::load_everywhere(std::span<const int> layers) {
  const std::size_t experts = static_cast<std::size_t>(model_.config.gate.experts);
  for (std::size_t i = 0; i < layers.size() * experts; ++i)
    everywhere_.emplace_back(expert_shape(model_.config).bytes());
  ThreadPool pool(static_cast<int>(std::max(1u, std::thread::hardware_concurrency())));
  pool.run(static_cast<std::int64_t>(everywhere_.size()), [&](std::int64_t i, int) {
    const std::size_t at = static_cast<std::size_t>(i);
    load_expert(model_, layers[at / experts], static_cast<int>(at % experts), everywhere_[at].data());
  });
}

}  // namespace afore::device::cpu
