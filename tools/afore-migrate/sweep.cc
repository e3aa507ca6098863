#include "afore-migrate/sweep.h"

#include <fmt/format.h>

#include <numeric>

#include "common/parse.h"
#include "util/error.h"

namespace afore::cli {

void add_sweep_flags(Command app, SweepFlags& flags) {
  app.option("-b,--minbytes", flags.min_bytes, "Smallest copy (K, M, G or KiB, MiB, GiB)")
      .value_name("SIZE")
      .show_default();
  app.option("-e,--maxbytes", flags.max_bytes, "Largest copy").value_name("SIZE").show_default();
  app.integer("-f,--stepfactor", flags.step_factor, "Each size is the one before times this", 2, 1 << 20);
  app.integer("-n,--iters", flags.iters, "Timed copies of each size", 1, 1'000'000);
  app.integer("-w,--warmup_iters", flags.warmup_iters, "Copies of each size before the timed ones", 0, 1'000'000);
  app.integer("-c,--check", flags.check, "1: compare every receiver with its source after the timed copies", 0, 1);
  app.integer("--workers", flags.workers, "Workers, each with an arena of its own", 2, 1024);
  app.choice("--pattern", flags.pattern, "pairs: 0->1, 2->3, ... at once; fanout: 0 to all others through one port",
             {"pairs", "fanout"});
  app.integer("--seed", flags.seed, "Decides the bytes that are copied", 0, kMaxSeed);
  add_device_flags(app, flags.device);
}

device::CopyPattern resolve_pattern(const std::string& pattern, std::int64_t workers) {
  if (pattern == "fanout") return device::CopyPattern::fanout;
  if (workers % 2 != 0)
    throw Error(ErrorKind::usage, fmt::format("--pattern pairs needs an even number of workers, not {}", workers),
                "give one worker more, or use --pattern fanout");
  return device::CopyPattern::pairs;
}

Sweep resolve(const SweepFlags& flags, std::int64_t worker_threads, std::int64_t tile_tokens) {
  Sweep sweep;
  sweep.min_bytes = parse_bytes(flags.min_bytes, "-b");
  sweep.step_factor = flags.step_factor;
  const std::int64_t max_bytes = parse_bytes(flags.max_bytes, "-e");
  if (sweep.min_bytes < 1) throw Error(ErrorKind::usage, "-b: the smallest copy has at least 1 byte");
  if (max_bytes < sweep.min_bytes)
    throw Error(ErrorKind::usage, fmt::format("-e {} is below -b {}", flags.max_bytes, flags.min_bytes));
  sweep.options.pattern = resolve_pattern(flags.pattern, flags.workers);
  sweep.options.workers = static_cast<int>(flags.workers);
  sweep.options.iters = static_cast<int>(flags.iters);
  sweep.options.warmup_iters = static_cast<int>(flags.warmup_iters);
  sweep.options.check = flags.check != 0;
  sweep.options.seed = static_cast<std::uint64_t>(flags.seed);
  sweep.options.max_bytes = max_bytes;
  sweep.device = open_device(flags.device, flags.workers, worker_threads, tile_tokens);
  const device::Transfers& transfers = *sweep.device.transfers;
  const std::string flag = "-e " + flags.max_bytes, hint = "use a smaller -e or fewer --workers";
  // First in floating point: the product of a huge -e must not wrap round to a small one.
  check_memory(sweep.device, 2.0 * static_cast<double>(max_bytes), flag, hint);
  check_memory(sweep.device, static_cast<double>(device::arena_bytes(sweep.options, transfers)), flag, hint);
  sweep.sizes = device::sweep_sizes(sweep.min_bytes, max_bytes, sweep.step_factor);
  return sweep;
}

std::int64_t SweepResult::wrong() const {
  std::int64_t sum = 0;
  for (const PathResult& path : paths) sum += path.wrong;
  return sum;
}

std::size_t SweepResult::points() const {
  std::size_t sum = 0;
  for (const PathResult& path : paths) sum += path.points.size();
  return sum;
}

SweepResult run_sweep(const Sweep& sweep, Progress::Output output, const SweepWatch& watch) {
  device::Transfers& transfers = *sweep.device.transfers;
  SweepResult result;
  // Time goes with bytes, not with sizes.
  Progress progress("sizes", kAbsent, output);
  const std::int64_t total = std::accumulate(sweep.sizes.begin(), sweep.sizes.end(), std::int64_t{0}) *
                             static_cast<std::int64_t>(sweep.device.paths.size());
  std::int64_t bytes = 0;
  for (std::size_t p = 0; p < sweep.device.paths.size() && !result.interrupted; ++p) {
    PathResult& of_path = result.paths.emplace_back();
    of_path.path = sweep.device.paths[p];
    transfers.reserve(of_path.path, device::arena_bytes(sweep.options, transfers));
    device::CopyBench bench(transfers, sweep.options);
    watch.begin(of_path.path);
    for (const std::int64_t size : sweep.sizes) {
      const auto point = bench.run(size);
      if (!point) {
        result.interrupted = true;
        break;
      }
      of_path.wrong += point->wrong.value_or(0);
      of_path.points.push_back(*point);
      watch.point(*point);
      progress.set_part(bytes += size, total);
      progress.add();
    }
    watch.end(of_path, result.interrupted);
  }
  return result;
}

}  // namespace afore::cli
