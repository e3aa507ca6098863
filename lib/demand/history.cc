#include "demand/history.h"

namespace afore::demand {

void LastStep::observe(const Demand& demand) { last_[{demand.target.layer, demand.target.microbatch}] = demand.counts; }

void LastStep::guess(const Target& target, int experts, std::vector<std::int64_t>& counts) const {
  const auto it = last_.find({target.layer, target.microbatch});
  if (it == last_.end()) counts.assign(experts, 0);
  else counts = it->second;
}

void Window::observe(const Demand& demand) {
  Layer& layer = layers_[demand.target.layer];
  layer.counts.resize(demand.counts.size(), 0);
  if (layer.steps.empty() || layer.steps.back().step != demand.target.step) {
    layer.steps.push_back({demand.target.step, 0, std::vector<std::int64_t>(demand.counts.size(), 0)});
    if (layer.steps.size() > static_cast<std::size_t>(steps_)) {
      const Step& oldest = layer.steps.front();
      for (std::size_t e = 0; e < oldest.counts.size(); ++e) layer.counts[e] -= oldest.counts[e];
      layer.targets -= oldest.targets;
      layer.steps.pop_front();
    }
  }
  Step& step = layer.steps.back();
  for (std::size_t e = 0; e < demand.counts.size(); ++e) {
    step.counts[e] += demand.counts[e];
    layer.counts[e] += demand.counts[e];
  }
  step.targets += 1;
  layer.targets += 1;
}

void Window::guess(const Target& target, int experts, std::vector<std::int64_t>& counts) const {
  sum(target.layer, experts, counts);
  const auto it = layers_.find(target.layer);
  if (it == layers_.end() || it->second.targets == 0) return;
  for (std::int64_t& count : counts) count = (count + it->second.targets / 2) / it->second.targets;
}

void Window::sum(int layer, int experts, std::vector<std::int64_t>& counts) const {
  const auto it = layers_.find(layer);
  if (it == layers_.end()) counts.assign(experts, 0);
  else counts = it->second.counts;
}

}  // namespace afore::demand
