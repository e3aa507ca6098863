#include "device/cuda/topology.h"

#include "util/error.h"

namespace afore::device::cuda {

Topology spread(int gpus, int attention_workers, int ffn_workers) {
  AFORE_CHECK(gpus > 0 && attention_workers > 0 && ffn_workers > 0, "workers without a GPU");
  Topology topology;
  topology.workers_on.assign(static_cast<std::size_t>(gpus), 0);
  const auto place = [&](std::vector<int>& workers, std::vector<int>& among_its, int gpu) {
    int& there = topology.workers_on[static_cast<std::size_t>(gpu)];
    workers.push_back(gpu);
    among_its.push_back(there);
    topology.shared = ++there > 1 || topology.shared;
  };
  for (int w = 0; w < ffn_workers; ++w) place(topology.ffn, topology.ffn_among_its, w % gpus);
  const bool apart = gpus > ffn_workers;
  for (int w = 0; w < attention_workers; ++w)
    place(topology.attention, topology.attention_among_its,
          apart ? ffn_workers + w % (gpus - ffn_workers) : (ffn_workers + w) % gpus);
  return topology;
}

}  // namespace afore::device::cuda
