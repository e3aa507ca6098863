#include "afore-migrate/device_flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "common/messages.h"
#include "common/signals.h"
#include "device/cpu/packed.h"
#include "device/plugin.h"
#include "host/host_transfers.h"
#include "util/error.h"

namespace afore::cli {
namespace {

using device::CopyPath;

constexpr CopyPath kAllPaths[] = {CopyPath::host, CopyPath::d2d, CopyPath::peer, CopyPath::nccl};

std::vector<std::string> names_of(std::span<const CopyPath> paths) {
  std::vector<std::string> names;
  for (const CopyPath path : paths) names.emplace_back(to_string(path));
  return names;
}

CopyPath parse_path(const std::string& name) {
  for (const CopyPath path : kAllPaths)
    if (name == to_string(path)) return path;
  throw Error(ErrorKind::usage,
              fmt::format("--path: \"{}\" is not one of {}", name, fmt::join(names_of(kAllPaths), ", ")),
              "several are separated by commas, or by giving --path again");
}

// In the order given, each once.
std::vector<CopyPath> parse_paths(const std::vector<std::string>& lists) {
  std::vector<CopyPath> paths;
  for (const std::string& list : lists) {
    std::istringstream in(list + ",");
    for (std::string name; std::getline(in, name, ',');) {
      const CopyPath path = parse_path(name);
      if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
    }
  }
  return paths;
}

std::string readable_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 7; ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

[[noreturn]] void refuse_tile(int tile_tokens, const char* hint) {
  throw Error(ErrorKind::usage, fmt::format("--tile-tokens {}: not a tile of the device", tile_tokens), hint);
}

[[noreturn]] void refuse_path(const device::Transfers& transfers, CopyPath path) {
  const std::vector<CopyPath> there = transfers.paths();
  const std::string why = transfers.why_not(path);
  throw Error(
      ErrorKind::usage,
      fmt::format("--path {}: workers of the {} device have {} alone{}{}", to_string(path),
                  transfers.info(there.front()).kind, fmt::join(names_of(there), ", "), why.empty() ? "" : ": ", why),
      "leave --path out, or choose another --device");
}

std::unique_ptr<device::Transfers> open_transfers(const DeviceFlags& flags, device::TransferOptions options) {
  if (flags.device != "cpu") {
    const std::string why = device::why_no_cuda();
    if (why.empty()) {
      if (options.tile_tokens != 0 && !device::cuda_plugin().is_tile(options.tile_tokens))
        refuse_tile(options.tile_tokens, "16, 32 or 64 on GPUs");
      if (options.worker_threads != 1) throw Error(ErrorKind::usage, "--threads is of --device cpu", "leave it out");
      options.sm_partitions = flags.sm_partitions.wanted(true);
      return device::cuda_plugin().open_transfers(options);
    }
    if (flags.device == "cuda") throw Error(ErrorKind::io, why, "--device cpu measures this machine's memory");
    note("measuring on cpu: " + why);
  }
  options.sm_partitions = flags.sm_partitions.wanted(false);
  if (options.tile_tokens != 0 && options.tile_tokens != device::cpu::kTileTokens)
    refuse_tile(options.tile_tokens, "leave it out: 8 on processors");
  return std::make_unique<host::HostTransfers>(options);
}

}  // namespace

void add_device_flags(Command app, DeviceFlags& flags) {
  app.choice("--device", flags.device, "Where the workers are; auto: GPUs where there are any",
             {"cpu", "cuda", "auto"});
  app.option("--path", flags.paths,
             "Ways of copying, a list: host (between host arenas), d2d (within one GPU), peer (between GPUs), nccl "
             "(send and receive); default: all that the device has")
      .value_name("LIST")
      .one_value();
  add_sm_partitions(app, flags.sm_partitions);
  app.integer("-T,--timeout", flags.time_limit_s,
              "Seconds after which the run ends with what it has, exit 1; 0: no limit", 0, 1'000'000);
}

OpenDevice open_device(const DeviceFlags& flags, std::int64_t workers, std::int64_t worker_threads,
                       std::int64_t tile_tokens) {
  OpenDevice open;
  open.paths = parse_paths(flags.paths);
  open.stop = catch_interrupts();
  if (flags.time_limit_s > 0) limit_time(flags.time_limit_s);
  open.transfers = open_transfers(flags, {.workers = static_cast<int>(workers),
                                          .worker_threads = static_cast<int>(worker_threads),
                                          .stop = open.stop,
                                          .tile_tokens = static_cast<int>(tile_tokens)});
  const std::vector<CopyPath> there = open.transfers->paths();
  if (open.paths.empty()) open.paths = there;
  for (const CopyPath path : open.paths)
    if (std::find(there.begin(), there.end(), path) == there.end()) refuse_path(*open.transfers, path);
  return open;
}

void check_memory(const OpenDevice& device, double bytes_per_worker, const std::string& flag, const std::string& hint) {
  for (const CopyPath path : device.paths) {
    const int workers = device.transfers->workers();
    const double available = static_cast<double>(device.transfers->available_bytes(path)) * workers;
    const double needed = bytes_per_worker * workers;
    if (needed > available * 0.9)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: the arenas of {} workers need {} of memory, and {} are available", flag, workers,
                              readable_bytes(needed), readable_bytes(available)),
                  hint);
  }
}

std::string describe(const device::DeviceInfo& info) {
  const char* unit = info.kind == "cpu" ? "processor" : "GPU";
  return fmt::format("{}: {}, {}, {} {}{}", info.kind, info.name, info.arithmetic, info.units, unit,
                     info.units == 1 ? "" : "s");
}

std::string describe_workers(const device::DeviceInfo& info, std::int64_t workers) {
  if (!info.virtual_workers) return fmt::format("{}", workers);
  if (!info.sm_split) return fmt::format("{} virtual (they share this machine's memory)", workers);
  const std::string split = describe(*info.sm_split);
  if (info.sm_split->worker_sms > 0) return fmt::format("{} virtual on one GPU, {}", workers, split);
  return fmt::format("{} virtual (they share one GPU; {})", workers, split);
}

void refuse_time_limit(const DeviceFlags& flags, bool interrupted, const std::string& measured) {
  if (interrupted && time_is_up())
    throw Error(ErrorKind::answer_no,
                fmt::format("-T {}: the time limit ended the run; {} were measured", flags.time_limit_s, measured),
                "a longer -T, or fewer iterations (-n)");
}

void refuse_wrong_data(std::int64_t wrong) {
  if (wrong == 0) return;
  throw Error(ErrorKind::answer_no, fmt::format("{} bytes arrived wrong", wrong),
              "this machine's memory is not to be trusted");
}

}  // namespace afore::cli
