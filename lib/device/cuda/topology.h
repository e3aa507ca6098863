#pragma once
// Which worker lives on which GPU.
#include <vector>

namespace afore::device::cuda {

struct Topology {
  std::vector<int> attention, ffn;                      // by worker: place among the GPUs
  std::vector<int> attention_among_its, ffn_among_its;  // and which of its GPU's workers it is
  std::vector<int> workers_on;                          // by GPU
  bool shared = false;                                  // some GPU has more than one worker
};

// FFN workers come first: their times are what plans balance, so as long as there are GPUs each has one to itself, and
// attention workers go round on the others. With fewer GPUs than that, all go round on all of them.
Topology spread(int gpus, int attention_workers, int ffn_workers);

}  // namespace afore::device::cuda
