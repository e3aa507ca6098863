#include "device/cuda/partitions.h"

#include <fmt/format.h>

#include <algorithm>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"
#include "kernels/gpu_driver.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

// Codes of the driver API are those of the runtime's.
cudaError_t runtime_code(CUresult code) { return static_cast<cudaError_t>(code); }

// Why a GPU is not split.
struct NoPartitions {
  std::string why;
};

void require(CUresult code, const char* function) {
  if (code != CUDA_SUCCESS) throw NoPartitions{fmt::format("{}: {}", function, describe(runtime_code(code)))};
}

// "12.2"
std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

constexpr int kFirstVersion = 12040, kStreamsVersion = 12050;  // of green contexts, and of streams of theirs

struct Driver {
  decltype(&cuDeviceGetDevResource) get_resource;
  decltype(&cuDevSmResourceSplitByCount) split;
  decltype(&cuDevResourceGenerateDesc) describe;
  decltype(&cuGreenCtxCreate) create;
  decltype(&cuGreenCtxDestroy) destroy;
  decltype(&cuGreenCtxStreamCreate) make_stream;
};

template <class F>
void find(F*& function, const char* name, int version) {
  void* address = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t code =
      cudaGetDriverEntryPointByVersion(name, &address, static_cast<unsigned>(version), cudaEnableDefault, &found);
  if (code != cudaSuccess) static_cast<void>(cudaGetLastError());
  if (code != cudaSuccess || found != cudaDriverEntryPointSuccess || address == nullptr)
    throw NoPartitions{fmt::format("the driver has no {}", name)};
  function = reinterpret_cast<F*>(address);
}

Driver find_driver() {
  int version = 0;
  check(cudaDriverGetVersion(&version), "asking for the driver's version");
  if (version < kStreamsVersion)
    throw NoPartitions{fmt::format("driver {} has no green contexts", version_text(version))};
  Driver driver{};
  find(driver.get_resource, "cuDeviceGetDevResource", kFirstVersion);
  find(driver.split, "cuDevSmResourceSplitByCount", kFirstVersion);
  find(driver.describe, "cuDevResourceGenerateDesc", kFirstVersion);
  find(driver.create, "cuGreenCtxCreate", kFirstVersion);
  find(driver.destroy, "cuGreenCtxDestroy", kFirstVersion);
  find(driver.make_stream, "cuGreenCtxStreamCreate", kStreamsVersion);
  return driver;
}

class GreenContext final : public SmPartition {
 public:
  GreenContext(const Driver& driver, int gpu, CUdevResource sms) : driver_(driver), gpu_(gpu) {
    CUdevResourceDesc what{};
    require(driver_.describe(&what, &sms, 1), "cuDevResourceGenerateDesc");
    require(driver_.create(&context_, what, gpu, CU_GREEN_CTX_DEFAULT_STREAM), "cuGreenCtxCreate");
  }
  ~GreenContext() override {
    cudaSetDevice(gpu_);
    driver_.destroy(context_);
  }
  GreenContext(const GreenContext&) = delete;
  GreenContext& operator=(const GreenContext&) = delete;

  cudaStream_t make_stream(int priority) const override {
    CUstream stream = nullptr;
    check(runtime_code(driver_.make_stream(&stream, context_, CU_STREAM_NON_BLOCKING, priority)),
          "making a stream of a green context");
    return stream;
  }

 private:
  const Driver driver_;
  const int gpu_;
  CUgreenCtx context_ = nullptr;
};

// How many groups of at least `least` SMs there would be. The driver rounds `least` up to what it can make.
unsigned count_groups(const Driver& driver, const CUdevResource& all, unsigned least) {
  unsigned groups = 0;
  require(driver.split(nullptr, &groups, &all, nullptr, 0, least), "cuDevSmResourceSplitByCount");
  return groups;
}

// The largest equal groups, one for each worker. Sizes are asked for downwards, since what the driver rounds to is its
// own: of 132 SMs 7 workers would have 18, which are 24 to it, and 5 such groups; 16 make enough.
std::vector<CUdevResource> split(const Driver& driver, const CUdevResource& all, unsigned workers) {
  unsigned each = all.sm.smCount / workers;
  while (each > 0 && count_groups(driver, all, each) < workers) --each;
  if (each == 0)
    throw NoPartitions{fmt::format("{} SMs make {} partitions at most, for {} workers", all.sm.smCount,
                                   count_groups(driver, all, 1), workers)};
  std::vector<CUdevResource> groups(workers);
  unsigned made = workers;
  CUdevResource rest{};
  require(driver.split(groups.data(), &made, &all, &rest, 0, each), "cuDevSmResourceSplitByCount");
  if (made != workers) throw NoPartitions{fmt::format("the driver made {} of {} partitions", made, workers)};
  return groups;
}

// CUDA's documents ask for events and streams of one context, and do not say whether the primary context's events do
// for streams of its green contexts. Lanes need it in both directions, so it is tried once, before any work.
void try_events(const SmPartition& partition) {
  cudaEvent_t event = nullptr;
  check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "making an event");
  const cudaStream_t stream = partition.make_stream(0);
  cudaError_t code = cudaEventRecord(event, stream);
  if (code == cudaSuccess) code = cudaStreamWaitEvent(stream, event, 0);
  if (code == cudaSuccess) code = cudaStreamSynchronize(stream);
  static_cast<void>(cudaGetLastError());
  cudaStreamDestroy(stream);
  cudaEventDestroy(event);
  if (code != cudaSuccess) throw NoPartitions{"events of green contexts: " + describe(code)};
}

void make_partitions(int gpu, Partitions& partitions) {
  const Driver driver = find_driver();
  CUdevResource all{};
  require(driver.get_resource(gpu, &all, CU_DEV_RESOURCE_TYPE_SM), "cuDeviceGetDevResource");
  partitions.split.gpu_sms = all.sm.smCount;
  const std::vector<CUdevResource> groups = split(driver, all, static_cast<unsigned>(partitions.of.size()));
  for (std::size_t i = 0; i < groups.size(); ++i)
    partitions.of[i] = std::make_shared<GreenContext>(driver, gpu, groups[i]);
  try_events(*partitions.of.front());
  partitions.split.worker_sms = groups.front().sm.smCount;
}

std::int64_t count_sms(int gpu) {
  int sms = 0;
  check(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, gpu), "asking for a GPU's SMs");
  return sms;
}

}  // namespace

Partitions split_sms(int gpu, int workers, bool wanted) {
  use(gpu);  // its primary context, which green contexts are of, is there from here on
  Partitions partitions{std::vector<Partition>(static_cast<std::size_t>(workers)), {count_sms(gpu), 0, ""}};
  std::string& why = partitions.split.why_plain;
  if (workers == 1) why = "one worker has the GPU";
  else if (!wanted) why = "--sm-partitions off";
  if (!why.empty()) return partitions;
  try {
    make_partitions(gpu, partitions);
  } catch (const NoPartitions& no) {
    why = no.why;
  } catch (const Error& error) {
    why = error.what();
  }
  if (!why.empty()) std::fill(partitions.of.begin(), partitions.of.end(), nullptr);
  return partitions;
}

}  // namespace afore::device::cuda
