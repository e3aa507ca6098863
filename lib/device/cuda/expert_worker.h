#pragma once
// An FFN worker on a GPU: an arena of slots, a lane that computes and one that copies.
#include "device/cuda/shapes.h"
#include "device/cuda/step.h"
#include "device/cuda/uploader.h"

namespace afore::device::cuda {

// Experts by slot; kernels read them through arena().
class ExpertStore {
 public:
  ExpertStore(const Place& place, const nn::ModelConfig& config, std::int64_t slots);

  kernels::ExpertArena arena() const;
  std::byte* slot(std::int64_t slot) const;
  std::int64_t slots() const { return slots_; }
  std::int64_t slot_bytes() const { return slot_bytes_; }

 private:
  std::int32_t hidden_, intermediate_;
  std::int64_t slots_, slot_bytes_;
  Buffer<std::byte> memory_;
};

class CudaExperts final : public ExpertWorker {
 public:
  // `config`, `tensors` and `everywhere` (may be null until it is there) must outlive it.
  // Computes on the SMs of `partition`.
  CudaExperts(int gpu, Partition partition, int worker, std::int64_t slots, const nn::ModelConfig& config,
              const nn::ModelTensors& tensors, const DeviceOptions& options,
              const std::unique_ptr<ExpertStore>& everywhere);

  void load(std::int64_t slot, int layer, int expert) override;
  std::vector<std::byte> read(std::int64_t slot) override;
  Ticket run(std::span<Step* const> steps, std::span<const RowShare> shares) override;
  void wait(Ticket ticket) override;
  Ticket copy(ExpertWorker& from, std::int64_t from_slot, std::int64_t to_slot) override;
  bool poll(Ticket copy) override;
  bool polls_move() const override { return false; }

 private:
  // A launch's lists, in pinned memory until they have arrived.
  static constexpr std::size_t kParcels = 4;
  struct Work {
    const kernels::Part* parts = nullptr;
    const kernels::Share* shares = nullptr;
    kernels::WorkCounts* counts = nullptr;
    kernels::WorkBounds bounds;
  };
  Work send_work(std::span<CudaStep* const> steps, std::span<const RowShare> shares);
  PartialOutput* partial_of(CudaStep& step) const;  // null: outputs go to the attention worker's GPU
  kernels::Part part_of(CudaStep& step, std::int32_t* row_of_pair) const;
  const ExpertStore& store_of(std::span<const RowShare> shares) const;
  void compute(const Work& work, const kernels::ExpertArena& arena);

  const int gpu_, worker_;
  const nn::ModelConfig& config_;
  const nn::ModelTensors& tensors_;
  const DeviceOptions options_;
  const std::unique_ptr<ExpertStore>& everywhere_;
  ExpertStore store_;
  struct Slot {
    Ticket arrives = 0;  // of the copy lane
    Ticket read = 0;     // of the compute lane
  };
  std::vector<Slot> slots_;
  Buffer<std::uint16_t> xs_, h_;
  Buffer<float> y_;
  Buffer<std::int32_t> row_of_pair_;
  Buffer<kernels::Row> rows_;
  Buffer<kernels::Tile> tiles_;
  std::vector<Parcel> parcels_;
  std::size_t next_parcel_ = 0;
  std::vector<CudaStep*> steps_;
  Lane compute_, copies_;  // the last, so that they are done before memory goes
  Uploader uploader_;
};

}  // namespace afore::device::cuda
