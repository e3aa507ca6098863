#include "afore-migrate/sweep.h"

#include <fmt/format.h>

#include <numeric>

#include "common/cli.h"
#include "util/error.h"

namespace afore::cli {

namespace {

std::string readable_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB", "ZiB"};
  int unit = 0;
  for (; bytes >= 1024 && unit < 7; ++unit) bytes /= 1024;
  return fmt::format("{:.{}f} {}", bytes, unit == 0 ? 0 : 1, kUnits[unit]);
}

}  // namespace

void add_sweep_flags(CLI::App& app, SweepFlags& flags) {
  app.add_option("-b,--minbytes", flags.min_bytes, "Smallest copy (K, M, G or KiB, MiB, GiB)")
      ->type_name("SIZE")
      ->capture_default_str();
  app.add_option("-e,--maxbytes", flags.max_bytes, "Largest copy")->type_name("SIZE")->capture_default_str();
  add_int(app, "-f,--stepfactor", flags.step_factor, "Each size is the one before times this", 2, 1 << 20);
  add_int(app, "-n,--iters", flags.iters, "Timed copies of each size", 1, 1'000'000);
  add_int(app, "-w,--warmup_iters", flags.warmup_iters, "Copies of each size before the timed ones", 0, 1'000'000);
  add_int(app, "-c,--check", flags.check, "1: compare every receiver with its source after the timed copies", 0, 1);
  add_int(app, "--workers", flags.workers, "Workers, each with an arena of its own", 2, 1024);
  add_choice(app, "--pattern", flags.pattern,
             "pairs: 0->1, 2->3, ... at once; fanout: 0 to all others through one port", {"pairs", "fanout"});
  add_int(app, "--seed", flags.seed, "Decides the bytes that are copied");
}

Sweep resolve(const SweepFlags& flags) {
  Sweep sweep;
  sweep.min_bytes = parse_bytes(flags.min_bytes);
  sweep.step_factor = flags.step_factor;
  const std::int64_t max_bytes = parse_bytes(flags.max_bytes);
  if (sweep.min_bytes < 1) throw Error(ErrorKind::usage, "-b: the smallest copy has at least 1 byte");
  if (max_bytes < sweep.min_bytes) {
    throw Error(ErrorKind::usage, fmt::format("-e {} is below -b {}", flags.max_bytes, flags.min_bytes));
  }
  if (flags.pattern == "pairs" && flags.workers % 2 != 0) {
    throw Error(ErrorKind::usage, fmt::format("--pattern pairs needs an even number of workers, not {}", flags.workers),
                "give one worker more, or use --pattern fanout");
  }
  sweep.options.workers = static_cast<int>(flags.workers);
  sweep.options.pattern = flags.pattern == "pairs" ? migrate::CopyPattern::pairs : migrate::CopyPattern::fanout;
  sweep.options.iters = static_cast<int>(flags.iters);
  sweep.options.warmup_iters = static_cast<int>(flags.warmup_iters);
  sweep.options.check = flags.check != 0;
  sweep.options.seed = static_cast<std::uint64_t>(flags.seed);
  sweep.options.max_bytes = max_bytes;
  const auto available = static_cast<double>(migrate::available_memory_bytes());
  // The first test is in floating point: the product of a huge -e must not wrap round to a small one.
  double needed = 2.0 * static_cast<double>(max_bytes) * static_cast<double>(flags.workers);
  if (needed < available) {
    needed = static_cast<double>(migrate::arena_bytes(sweep.options)) * static_cast<double>(flags.workers);
  }
  if (needed > available * 0.9) {
    throw Error(ErrorKind::usage,
                fmt::format("-e {}: the arenas of {} workers need {} of memory, and {} are available", flags.max_bytes,
                            flags.workers, readable_bytes(needed), readable_bytes(available)),
                "use a smaller -e or fewer --workers");
  }
  sweep.sizes = migrate::sweep_sizes(sweep.min_bytes, max_bytes, sweep.step_factor);
  return sweep;
}

SweepResult run_sweep(const Sweep& sweep, Progress::Output output,
                      const std::function<void(const migrate::CopyPoint&)>& on_point) {
  migrate::CopyBenchOptions options = sweep.options;
  options.stop = catch_interrupts();
  migrate::CopyBench bench(options);
  SweepResult result;
  // Time goes with bytes, not with sizes.
  Progress progress("sizes", kAbsent, output);
  const std::int64_t total = std::accumulate(sweep.sizes.begin(), sweep.sizes.end(), std::int64_t{0});
  std::int64_t bytes = 0;
  for (const std::int64_t size : sweep.sizes) {
    const auto point = bench.run(size);
    if (!point) {
      result.interrupted = true;
      break;
    }
    result.wrong += point->wrong.value_or(0);
    result.points.push_back(*point);
    on_point(*point);
    progress.set_part(bytes += size, total);
    progress.add();
  }
  return result;
}

}  // namespace afore::cli
