#include "device/cuda/check.h"
#include "device/cuda/copy_route.h"
#include "device/cuda/gpus.h"

namespace afore::device::cuda {
namespace {

class EngineRoute final : public CopyRoute {
 public:
  explicit EngineRoute(CopyLanes lanes) : lanes_(lanes.begin(), lanes.end()) {}

  void copy(std::span<const SlotCopy> copies, std::size_t bytes) override {
    for (const SlotCopy& one : copies) {
      const Lane &from = lane(one.from), &to = lane(one.to);
      use(from.gpu());
      if (from.gpu() == to.gpu())
        check(cudaMemcpyAsync(one.target, one.source, bytes, cudaMemcpyDeviceToDevice, from.stream()),
              "copying within a GPU");
      else
        check(cudaMemcpyPeerAsync(one.target, to.gpu(), one.source, from.gpu(), bytes, from.stream()),
              "copying between GPUs");
    }
  }
  cudaStream_t sent(int worker) const override { return lane(worker).stream(); }
  int operations_per_copy() const override { return 1; }
  void wait() override {
    for (const Lane* lane : lanes_) check(cudaStreamSynchronize(lane->stream()), "waiting for copies");
  }

 private:
  const Lane& lane(int worker) const { return *lanes_[static_cast<std::size_t>(worker)]; }

  std::vector<Lane*> lanes_;
};

}  // namespace

std::unique_ptr<CopyRoute> make_engine_route(CopyLanes lanes) { return std::make_unique<EngineRoute>(lanes); }

}  // namespace afore::device::cuda
