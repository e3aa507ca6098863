#include "device/cuda/device.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "device/cuda/check.h"

namespace afore::device::cuda {
namespace {

// Of `found`, those that a topology uses: the first ones.
std::vector<int> used_gpus(const std::vector<int>& found, const Topology& topology) {
  int most = 0;
  for (const auto* workers : {&topology.attention, &topology.ffn})
    for (const int gpu : *workers) most = std::max(most, gpu);
  return {found.begin(), found.begin() + most + 1};
}

}  // namespace

CudaDevice::CudaDevice(const FoundGpus& found, const nn::ModelConfig& config, const nn::ModelTensors& tensors,
                       const DeviceOptions& options, const SumGroupMaker& make_group)
    : model_(found.model),
      config_(config),
      tensors_(tensors),
      options_(options),
      topology_(spread(static_cast<int>(found.gpus.size()), options.attention_workers, options.ffn_workers)),
      gpus_(used_gpus(found.gpus, topology_)),
      peers_(join_peers(gpus_)),
      weights_(gpus_.size()),
      everywhere_(gpus_.size()) {
  check_shapes(config, options);
  for (std::size_t place = 0; place < gpus_.size(); ++place)
    partitions_.push_back(split_sms(gpus_[place], topology_.workers_on[place], options.sm_partitions));
  if (options.combine == Combine::partial && !topology_.shared && make_group) make_sums(make_group);
}

void CudaDevice::make_sums(const SumGroupMaker& make_group) {
  std::vector<Lane*> ffn;
  for (const int place : topology_.ffn)
    ffn.push_back(&sum_lanes_.emplace_back(gpus_[static_cast<std::size_t>(place)], Lane::Kind::compute));
  for (const int place : topology_.attention)
    sums_.push_back(std::make_unique<PartialSums>(make_group, gpus_[static_cast<std::size_t>(place)], ffn));
}

std::string CudaDevice::name() const {
  if (gpus_.size() == 1) return fmt::format("cuda ({})", model_);
  return fmt::format("cuda ({} x {}{})", gpus_.size(), model_, sums_.empty() ? "" : ", all-reduce");
}

// "3 virtual workers on one GPU, 40 of 132 SMs each (green contexts)"
std::string CudaDevice::sharing() const {
  int workers = 0, gpus = 0;
  std::vector<std::string> splits;  // mostly one; GPUs with more workers have smaller partitions
  for (std::size_t place = 0; place < gpus_.size(); ++place) {
    if (topology_.workers_on[place] < 2) continue;
    workers += topology_.workers_on[place];
    ++gpus;
    const std::string split = describe(partitions_[place].split);
    if (std::find(splits.begin(), splits.end(), split) == splits.end()) splits.push_back(split);
  }
  if (gpus == 0) return "";
  return fmt::format("{} virtual workers on {}, {}", workers, gpus == 1 ? "one GPU" : fmt::format("{} GPUs", gpus),
                     fmt::join(splits, " or "));
}

void CudaDevice::abort(const std::string& why) noexcept {
  for (const auto& sums : sums_) sums->abort(why);
}

const Partition& CudaDevice::partition_of(const std::vector<int>& places, const std::vector<int>& among_its,
                                          int worker) const {
  const auto w = static_cast<std::size_t>(worker);
  return partitions_[static_cast<std::size_t>(places.at(w))].of[static_cast<std::size_t>(among_its.at(w))];
}

std::unique_ptr<Attention> CudaDevice::make_attention(int worker) {
  const auto place = static_cast<std::size_t>(topology_.attention.at(static_cast<std::size_t>(worker)));
  if (!weights_[place]) weights_[place] = std::make_unique<AttentionWeights>(gpus_[place], config_, tensors_);
  StepPlace step{gpus_[place], peers_, gpus_, {}};
  if (!sums_.empty())
    for (Lane& lane : sum_lanes_) step.sums.push_back(&lane);
  return std::make_unique<AttentionWorker>(
      step, partition_of(topology_.attention, topology_.attention_among_its, worker), config_, *weights_[place],
      options_, sums_.empty() ? nullptr : sums_[static_cast<std::size_t>(worker)].get());
}

std::unique_ptr<ExpertWorker> CudaDevice::make_experts(int worker, std::int64_t slots) {
  const auto place = static_cast<std::size_t>(topology_.ffn.at(static_cast<std::size_t>(worker)));
  return std::make_unique<CudaExperts>(gpus_[place], partition_of(topology_.ffn, topology_.ffn_among_its, worker),
                                       worker, slots, config_, tensors_, options_, everywhere_[place]);
}

// Once on every GPU that has FFN workers.
void CudaDevice::load_everywhere(std::span<const int> layers) {
  const std::int64_t experts = config_.gate.experts;
  for (const int gpu : topology_.ffn) {
    const auto place = static_cast<std::size_t>(gpu);
    if (everywhere_[place]) continue;
    auto store = std::make_unique<ExpertStore>(
        Place{gpus_[place], false, "memory for all experts", "a policy that owns its slots needs less"}, config_,
        std::ssize(layers) * experts);
    Lane lane(gpus_[place], Lane::Kind::copies);
    Uploader uploader(lane);
    std::int64_t slot = 0;
    for (const int layer : layers)
      for (const nn::MlpTensors& expert : tensors_.layers[static_cast<std::size_t>(layer)].experts)
        uploader.mlp(expert, reinterpret_cast<std::uint16_t*>(store->slot(slot++)));
    everywhere_[place] = std::move(store);
  }
}

}  // namespace afore::device::cuda
