#pragma once
// Which device and which paths are measured, for how long at most.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/options.h"
#include "common/sm_partitions.h"
#include "device/transfers.h"
#include "util/stop_flag.h"

namespace afore::cli {

struct DeviceFlags {
  std::string device = "cpu";
  std::vector<std::string> paths;  // empty = what the device has
  SmPartitionsFlag sm_partitions;
  std::int64_t time_limit_s = 0;  // 0 = none
};
void add_device_flags(Command app, DeviceFlags& flags);

// The device with its workers, and the paths to measure, at least one.
struct OpenDevice {
  std::unique_ptr<device::Transfers> transfers;
  std::vector<device::CopyPath> paths;
  const StopFlag* stop = nullptr;  // set by signals and by -T, which begins to count here
};
// Error{usage} for a device that this build or machine has not, and for paths that it has not.
// `tile_tokens`: of the expert FFN, 0 for the device's usual one.
OpenDevice open_device(const DeviceFlags& flags, std::int64_t workers, std::int64_t worker_threads,
                       std::int64_t tile_tokens = 0);

// Error{usage} unless each path's workers have memory for `bytes_per_worker`, with the flag that asked for it in front.
void check_memory(const OpenDevice& device, double bytes_per_worker, const std::string& flag, const std::string& hint);

// "cpu: AMD EPYC 9R14, avx512bf16, 2 processors"
std::string describe(const device::DeviceInfo& info);
// "2", "2 virtual (they share this machine's memory)", "2 virtual on one GPU, 64 of 132 SMs each (green contexts)" or
// "2 virtual (they share one GPU; plain streams: driver 12.2 has no green contexts)"
std::string describe_workers(const device::DeviceInfo& info, std::int64_t workers);

// Error{answer_no} when -T ended the run: `measured` of `all`, like "3 of 7 sizes".
void refuse_time_limit(const DeviceFlags& flags, bool interrupted, const std::string& measured);
// Error{answer_no} for wrong bytes.
void refuse_wrong_data(std::int64_t wrong);

}  // namespace afore::cli
