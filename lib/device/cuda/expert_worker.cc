#include "device/cuda/expert_worker.h"

#include <algorithm>
#include <utility>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"

namespace afore::device::cuda {
namespace {

constexpr const char* kWhat = "memory for experts' activations";
constexpr const char* kHint = "give a smaller --max-num-batched-tokens";

}  // namespace

ExpertStore::ExpertStore(const Place& place, const nn::ModelConfig& config, std::int64_t slots)
    : hidden_(config.hidden),
      intermediate_(config.moe_intermediate),
      slots_(slots),
      slot_bytes_(cuda::slot_bytes(config, config.moe_intermediate)),
      memory_(place, slots * slot_bytes_) {}

kernels::ExpertArena ExpertStore::arena() const { return {memory_.data(), slot_bytes_, hidden_, intermediate_}; }

std::byte* ExpertStore::slot(std::int64_t slot) const {
  AFORE_CHECK(slot >= 0 && slot < slots_, "a slot that the arena has not");
  return memory_.data() + slot * slot_bytes_;
}

CudaExperts::CudaExperts(int gpu, Partition partition, int worker, std::int64_t slots, const nn::ModelConfig& config,
                         const nn::ModelTensors& tensors, const DeviceOptions& options,
                         const std::unique_ptr<ExpertStore>& everywhere)
    : gpu_(gpu),
      worker_(worker),
      config_(config),
      tensors_(tensors),
      options_(options),
      everywhere_(everywhere),
      store_({gpu, false, "memory for experts", "give fewer --slots, or more GPUs"}, config, slots),
      slots_(static_cast<std::size_t>(slots)),
      xs_({gpu, false, kWhat, kHint}),
      h_(xs_.place()),
      y_(xs_.place()),
      row_of_pair_(xs_.place()),
      rows_(xs_.place()),
      tiles_(xs_.place()),
      compute_(gpu, Lane::Kind::compute, std::move(partition)),
      copies_(gpu, Lane::Kind::copies),
      uploader_(copies_) {
  for (std::size_t i = 0; i < kParcels; ++i) parcels_.emplace_back(gpu, kWhat);
}

void CudaExperts::load(std::int64_t slot, int layer, int expert) {
  const nn::LayerTensors& from = tensors_.layers[static_cast<std::size_t>(layer)];
  uploader_.mlp(from.experts[static_cast<std::size_t>(expert)], reinterpret_cast<std::uint16_t*>(store_.slot(slot)));
}

std::vector<std::byte> CudaExperts::read(std::int64_t slot) {
  use(gpu_);
  std::vector<std::byte> bytes(
      static_cast<std::size_t>(kernels::expert_bytes(config_.hidden, config_.moe_intermediate)));
  const cudaStream_t stream = copies_.stream();
  check(cudaMemcpyAsync(bytes.data(), store_.slot(slot), bytes.size(), cudaMemcpyDeviceToHost, stream),
        "reading an expert");
  check(cudaStreamSynchronize(stream), "reading an expert");
  return bytes;
}

PartialOutput* CudaExperts::partial_of(CudaStep& step) const {
  return step.partial.empty() ? nullptr : &step.partial[static_cast<std::size_t>(worker_)];
}

kernels::Part CudaExperts::part_of(CudaStep& step, std::int32_t* row_of_pair) const {
  const Routed& from = step.for_experts();
  float* to = step.y.data();
  if (const PartialOutput* mine = partial_of(step)) to = mine->rows.data();
  else if (options_.combine == Combine::partial) to += worker_ * step.tokens() * config_.hidden;
  return {from.x, from.counts, from.begin, from.sorted, from.weights, row_of_pair, to, step.count()};
}

// Plans own slots, or none.
const ExpertStore& CudaExperts::store_of(std::span<const RowShare> shares) const {
  const bool own = shares.front().slot >= 0;
  for (const RowShare& share : shares) AFORE_CHECK((share.slot >= 0) == own, "a plan that owns some of its slots");
  AFORE_CHECK(own || everywhere_ != nullptr, "experts are to stand everywhere, and do not");
  return own ? store_ : *everywhere_;
}

CudaExperts::Work CudaExperts::send_work(std::span<CudaStep* const> steps, std::span<const RowShare> shares) {
  Work work;
  std::int64_t pairs = 0;
  for (const CudaStep* step : steps) {
    pairs += step->tokens() * config_.gate.top_k;
    work.bounds.part_tokens = std::max(work.bounds.part_tokens, step->count());
  }
  work.bounds.top_k = config_.gate.top_k;
  work.bounds.parts = static_cast<std::int32_t>(steps.size());
  work.bounds.shares = static_cast<std::int32_t>(shares.size());
  row_of_pair_.grow(compute_, pairs);
  Parcel& parcel = parcels_[next_parcel_++ % kParcels];
  parcel.open(compute_, Parcel::bytes_of<kernels::Part>(std::ssize(steps)) +
                            Parcel::bytes_of<kernels::Share>(std::ssize(shares)) +
                            Parcel::bytes_of<kernels::WorkCounts>(1));
  kernels::Part* part_to = parcel.add<kernels::Part>(std::ssize(steps), work.parts);
  std::int32_t* row_of_pair = row_of_pair_.data();
  for (CudaStep* step : steps) {
    *part_to++ = part_of(*step, row_of_pair);
    row_of_pair += step->tokens() * config_.gate.top_k;
  }
  kernels::Share* share_to = parcel.add<kernels::Share>(std::ssize(shares), work.shares);
  for (const RowShare& share : shares) {
    std::int64_t there = 0;
    for (const CudaStep* step : steps) there += step->counts[static_cast<std::size_t>(share.expert)];
    AFORE_CHECK(share.first >= 0 && share.first + share.tokens <= there, "a share has more tokens than its expert");
    const auto tokens = static_cast<std::int32_t>(share.tokens);
    const std::int64_t slot = share.slot >= 0 ? share.slot : -1 - share.slot;
    *share_to++ = {share.expert, static_cast<std::int32_t>(share.first), tokens, static_cast<std::int32_t>(slot)};
    work.bounds.rows += tokens;
    work.bounds.tiles += (tokens + options_.tile_tokens - 1) / options_.tile_tokens;
  }
  *parcel.add<kernels::WorkCounts>(1, work.counts) = {work.bounds.shares, 0, 0};
  parcel.send(compute_);
  return work;
}

void CudaExperts::compute(const Work& work, const kernels::ExpertArena& arena) {
  const kernels::WorkBounds& bounds = work.bounds;
  const std::int32_t hidden = config_.hidden, tile = options_.tile_tokens;
  const cudaStream_t stream = compute_.stream();
  xs_.grow(compute_, std::int64_t{bounds.rows} * hidden);
  h_.grow(compute_, std::int64_t{bounds.rows} * arena.intermediate);
  y_.grow(compute_, std::int64_t{bounds.rows} * hidden);
  rows_.grow(compute_, bounds.rows);
  tiles_.grow(compute_, bounds.tiles);
  kernels::list_work(work.parts, work.shares, work.counts, bounds, tile, rows_.data(), tiles_.data(), stream);
  kernels::gather_rows(work.parts, rows_.data(), work.counts, bounds, hidden, xs_.data(), stream);
  kernels::expert_gate_up(arena, xs_.data(), tiles_.data(), work.counts, bounds.tiles, tile, h_.data(), stream);
  kernels::expert_down(arena, h_.data(), tiles_.data(), work.counts, bounds.tiles, tile, y_.data(), stream);
  if (options_.combine == Combine::exact)
    kernels::scatter_rows(work.parts, rows_.data(), work.counts, bounds, hidden, y_.data(), stream);
  else kernels::sum_rows(work.parts, bounds, hidden, y_.data(), stream);
  check_launches("an expert FFN");
}

Ticket CudaExperts::run(std::span<Step* const> steps, std::span<const RowShare> shares) {
  if (shares.empty()) return 0;
  use(gpu_);
  const ExpertStore& store = store_of(shares);
  steps_.clear();
  for (Step* step : steps)  // without tokens, it has none of any expert either
    if (step->tokens() > 0) steps_.push_back(static_cast<CudaStep*>(step));
  for (CudaStep* step : steps_) {
    step->lane().order(compute_.stream(), step->gated);
    if (const PartialOutput* mine = partial_of(*step)) mine->sums->order(compute_.stream(), mine->summed);
  }
  if (&store == &store_)
    for (const RowShare& share : shares)
      copies_.order(compute_.stream(), slots_[static_cast<std::size_t>(share.slot)].arrives);
  compute(send_work(steps_, shares), store.arena());
  const Ticket ticket = compute_.record();
  for (CudaStep* step : steps_)
    if (PartialOutput* mine = partial_of(*step)) mine->computes = &compute_, mine->written = ticket;
  if (&store == &store_)
    for (const RowShare& share : shares) slots_[static_cast<std::size_t>(share.slot)].read = ticket;
  return ticket;
}

void CudaExperts::wait(Ticket ticket) {
  use(gpu_);
  compute_.wait(ticket);
}

Ticket CudaExperts::copy(ExpertWorker& from_any, std::int64_t from_slot, std::int64_t to_slot) {
  CudaExperts& from = static_cast<CudaExperts&>(from_any);
  use(gpu_);
  const std::byte* const source = from.store_.slot(from_slot);
  std::byte* const to = store_.slot(to_slot);
  const auto bytes = static_cast<std::size_t>(store_.slot_bytes());
  Slot& slot = slots_[static_cast<std::size_t>(to_slot)];
  compute_.order(copies_.stream(), slot.read);
  if (from.gpu_ == gpu_)
    check(cudaMemcpyAsync(to, source, bytes, cudaMemcpyDeviceToDevice, copies_.stream()), "copying an expert");
  else check(cudaMemcpyPeerAsync(to, gpu_, source, from.gpu_, bytes, copies_.stream()), "copying an expert");
  return slot.arrives = copies_.record();
}

bool CudaExperts::poll(Ticket copy) {
  use(gpu_);
  return copies_.done(copy);
}

}  // namespace afore::device::cuda
