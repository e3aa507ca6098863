#include "trace/statistics.h"

#include <algorithm>
#include <numeric>

#include "core/placement.h"

namespace afore::trace {

void Statistics::add(const Target& target, std::int64_t tokens, std::span<const std::int64_t> counts) {
  LayerStatistics& layer = layers_[target.layer];
  layer.layer = target.layer;
  ++layer.targets;
  layer.tokens += tokens;
  layer.counts.resize(std::max(layer.counts.size(), counts.size()));
  loads_.assign(workers_, 0);
  std::int64_t sum = 0, hottest = 0;
  const auto experts = static_cast<int>(counts.size());
  for (int e = 0; e < experts; ++e) {
    layer.counts[e] += counts[e];
    loads_[initial_primary(e, experts, workers_)] += counts[e];
    sum += counts[e];
    hottest = std::max(hottest, counts[e]);
  }
  if (sum == 0) return;
  layer.imbalance_sum += static_cast<double>(hottest) * experts / static_cast<double>(sum);
  ++layer.imbalance_targets;
  layer.worker_mean_sum += static_cast<double>(sum) / workers_;
  layer.worker_max_sum += static_cast<double>(*std::max_element(loads_.begin(), loads_.end()));
  compare_hottest(target, counts, layer);
}

void Statistics::compare_hottest(const Target& target, std::span<const std::int64_t> counts, LayerStatistics& layer) {
  order_.resize(counts.size());
  std::iota(order_.begin(), order_.end(), 0);
  const auto size = std::min<std::size_t>(hot_, counts.size());
  std::partial_sort(order_.begin(), order_.begin() + size, order_.end(),
                    [&](int a, int b) { return counts[a] != counts[b] ? counts[a] > counts[b] : a < b; });
  std::sort(order_.begin(), order_.begin() + size);
  Hottest& before = hottest_[{target.layer, target.microbatch}];
  if (before.step == target.step - 1 && before.experts.size() == size) {
    std::size_t same = 0;
    for (std::size_t i = 0; i < size; ++i)
      same += std::binary_search(before.experts.begin(), before.experts.end(), order_[i]);
    layer.reuse_sum += static_cast<double>(same) / static_cast<double>(size);
    ++layer.reuse_targets;
  }
  before.step = target.step;
  before.experts.assign(order_.begin(), order_.begin() + size);
}

std::vector<LayerStatistics> Statistics::layers() const {
  std::vector<LayerStatistics> list;
  for (const auto& [index, layer] : layers_) list.push_back(layer);
  return list;
}

LayerStatistics Statistics::total() const {
  LayerStatistics total;
  total.layer = -1;
  for (const auto& [index, layer] : layers_) {
    total.targets += layer.targets;
    total.tokens += layer.tokens;
    total.imbalance_sum += layer.imbalance_sum;
    total.imbalance_targets += layer.imbalance_targets;
    total.worker_mean_sum += layer.worker_mean_sum;
    total.worker_max_sum += layer.worker_max_sum;
    total.reuse_sum += layer.reuse_sum;
    total.reuse_targets += layer.reuse_targets;
  }
  return total;
}

}  // namespace afore::trace
