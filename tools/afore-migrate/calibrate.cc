// A cost file from measured copies and measured expert FFN.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "afore-migrate/commands.h"
#include "afore-migrate/shape_flags.h"
#include "afore-migrate/sweep.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/presets.h"
#include "common/publish.h"
#include "common/signals.h"
#include "device/ffn_grid.h"
#include "fit/cost_fit.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::cli {
namespace {

constexpr double kPoorFit = 0.25;   // relative error of a fit from which the user is warned
constexpr int kFfnWarmupIters = 3;  // of the whole grid

struct CalibrateFlags {
  SweepFlags sweep;
  ShapeFlags shape;
  std::int64_t experts = 8, tiles = 4, threads = 1;
  std::string base, output = "-";
  bool force = false;
};

[[noreturn]] void refuse_unfinished(const CalibrateFlags& flags) {
  if (time_is_up())
    throw Error(ErrorKind::answer_no,
                fmt::format("-T {}: the time limit ended the measurement; no cost file was written",
                            flags.sweep.device.time_limit_s),
                "a longer -T, or fewer iterations (-n)");
  throw Error(ErrorKind::interrupted, "no cost file was written");
}

std::vector<CopyCalibration> measure_copies(const CalibrateFlags& flags, const Sweep& sweep) {
  const SweepResult result =
      run_sweep(sweep, Progress::Output::at_end,
                {[](device::CopyPath) {}, [](const device::CopyPoint&) {}, [](const PathResult&, bool) {}});
  if (result.interrupted) refuse_unfinished(flags);
  refuse_wrong_data(result.wrong());
  std::vector<CopyCalibration> copies;
  for (const PathResult& path : result.paths) {
    std::vector<fit::MeasuredCopy> measured;
    for (const device::CopyPoint& point : path.points)
      measured.push_back({point.size_bytes, point.p50_us * 1e3 / static_cast<double>(point.copies)});
    const fit::CopyFit fit = fit::fit_copies(measured);
    copies.push_back({to_string(path.path), fit.latency_ns, std::round(fit.bytes_per_s), fit.quality});
  }
  return copies;
}

fit::FfnFit measure_ffn(const CalibrateFlags& flags, const Sweep& sweep, const device::ExpertSizes& sizes) {
  device::Transfers& transfers = *sweep.device.transfers;
  device::FfnGridOptions options;
  options.sizes = sizes;
  options.most_experts = static_cast<int>(flags.experts);
  options.most_tiles_per_expert = static_cast<int>(flags.tiles);
  options.iters = sweep.options.iters;
  options.warmup_iters = std::min(kFfnWarmupIters, sweep.options.warmup_iters);
  options.seed = sweep.options.seed;
  transfers.reserve(sweep.device.paths.front(), flags.experts * transfers.stride_bytes(transfers.expert_bytes(sizes)));
  const auto points = device::time_ffn_grid(transfers, options, sweep.device.stop);
  if (!points) refuse_unfinished(flags);
  std::vector<fit::MeasuredFfn> runs;
  for (const device::FfnPoint& point : *points) runs.push_back({point.tiles, point.activated, point.p50_ns});
  return fit::fit_ffn(runs);
}

HardwareProfile load_base(const CalibrateFlags& flags, const device::DeviceInfo& info) {
  return load_cost(!flags.base.empty() ? flags.base : info.kind == "cpu" ? "cpu" : "h100");
}

Calibration provenance(const CalibrateFlags& flags, const Sweep& sweep, const std::vector<std::string>& arguments) {
  return {.producer = producer("afore-migrate"),
          .command = arguments,
          .seed = flags.sweep.seed,
          .device = sweep.info().kind,
          .device_name = sweep.info().name,
          .arithmetic = sweep.info().arithmetic,
          .units = sweep.info().units,
          .workers = sweep.options.workers,
          .virtual_workers = sweep.info().virtual_workers,
          .sm_split = sweep.info().sm_split,
          .copies = {},
          .ffn = {}};
}

std::string quality_text(const FitQuality& fit, const char* what) {
  return fmt::format("R2 {:.4f}, error p95 {:.1f} %, worst {:.1f} % of {} {}", fit.r2, 100 * fit.p95_error,
                     100 * fit.worst_error, fit.points, what);
}

std::string report(const HardwareProfile& profile, const Calibration& measured, const std::string& output,
                   const device::DeviceInfo& info) {
  std::string text = fmt::format("{}: measured on {}; workers: {}\n", output, describe(info),
                                 describe_workers(info, measured.workers));
  for (const CopyCalibration& copies : measured.copies)
    text += fmt::format("copies, {}: {} ns + size / {:.0f} bytes per second; {}\n", copies.path, copies.latency_ns,
                        copies.bytes_per_s, quality_text(copies.fit, "sizes"));
  if (measured.ffn)
    text += fmt::format("expert FFN of {} x {}: {} + {} tiles of {} + {} activated ns; {}\n", measured.ffn->hidden,
                        measured.ffn->intermediate, profile.ffn_c0_ns, profile.ffn_c1_ns, measured.ffn->tile_tokens,
                        profile.ffn_c2_ns, quality_text(measured.ffn->fit, "points"));
  return text;
}

void warn_of(const FitQuality& fit, const std::string& what) {
  if (!fit.held.empty())
    note(fmt::format("{}: {} would be negative and {} held at the least value", what, fmt::join(fit.held, ", "),
                     fit.held.size() == 1 ? "is" : "are"));
  if (fit.worst_error > kPoorFit)
    warn(
        fmt::format("{}: the fit is {:.0f} % off at one point: caches or other work disturb it; -n and a larger -b "
                    "help",
                    what, 100 * fit.worst_error));
}

void run_calibrate(const CalibrateFlags& flags, const std::vector<std::string>& arguments) {
  // Everything that can be wrong with the command line comes before the first measurement.
  const bool with_ffn = flags.shape.given();
  const device::ExpertSizes sizes = with_ffn ? expert_sizes(flags.shape) : device::ExpertSizes{};
  const Sweep sweep = resolve(flags.sweep, flags.threads, flags.shape.tile_tokens);
  if (sweep.sizes.size() < 2)
    throw Error(ErrorKind::usage, "calibrate needs at least two sizes to fit a line through",
                "raise -e to at least -b times -f");
  if (with_ffn)
    check_memory(sweep.device,
                 static_cast<double>(flags.experts) * static_cast<double>(sweep.device.transfers->expert_bytes(sizes)),
                 fmt::format("--experts {}", flags.experts), "use fewer --experts or fewer --workers");
  HardwareProfile profile = load_base(flags, sweep.info());
  check_can_publish(flags.output, flags.force, kForceHint);

  Calibration measured = provenance(flags, sweep, arguments);
  measured.copies = measure_copies(flags, sweep);
  profile.copy_latency_ns = measured.copies.front().latency_ns;
  profile.copy_bytes_per_s = measured.copies.front().bytes_per_s;
  if (with_ffn) {
    const fit::FfnFit ffn = measure_ffn(flags, sweep, sizes);
    profile.ffn_c0_ns = ffn.c0_ns;
    profile.ffn_c1_ns = ffn.c1_ns;
    profile.ffn_c2_ns = ffn.c2_ns;
    profile.ffn_tile_tokens = sweep.device.transfers->tile_tokens();
    profile.ffn_rule = LoadRule::additive;
    measured.ffn = FfnCalibration{sizes.hidden, sizes.intermediate, profile.ffn_tile_tokens,
                                  sweep.device.transfers->compute_threads() == 0 ? 0 : flags.threads, ffn.quality};
  }
  if (!with_ffn && profile.measured) measured.ffn = profile.measured->ffn;  // its values stay, and what they rest on
  const std::string suffix = with_ffn ? "+measured" : "+measured-copies";
  if (!profile.name.ends_with(suffix) && !profile.name.ends_with("+measured")) profile.name += suffix;
  profile.measured = measured;
  const std::string text = wire::to_json(profile);
  wire::parse_cost_file(text, "the calibrated cost file");  // what no reader takes is refused here, not by who reads it
  publish(flags.output, text + "\n", flags.force, kForceHint);
  if (flags.output != "-") {
    ByteWriter out("-");
    out.write(report(profile, measured, flags.output, sweep.info()));
    out.finish();
  }
  for (const CopyCalibration& copies : measured.copies) warn_of(copies.fit, "copies, " + copies.path);
  if (measured.ffn) warn_of(measured.ffn->fit, "expert FFN");
  else note("only copies were measured: --model, or --hidden and --intermediate, measures the FFN, too");
}

}  // namespace

void add_calibrate(Command app, const std::vector<std::string>& arguments) {
  Command sub = app.command("calibrate", "Measure, and write a cost file for --cost");
  sub.footer(
      "Copies: time = copy_latency_ns + size / copy_bytes_per_s through the median time of each size, for each path;\n"
      "the first path's go into the cost file's own keys. Expert FFN, with --model or sizes: time = ffn_c0_ns +\n"
      "ffn_c1_ns tiles + ffn_c2_ns activated experts, on one worker. Least squares of the relative error, no\n"
      "coefficient below its least value. \"measured\" says what the values rest on. The rest is from --cost.");
  const auto flags = std::make_shared<CalibrateFlags>();
  add_sweep_flags(sub, flags->sweep);
  add_shape_flags(sub, flags->shape);
  sub.integer("--experts", flags->experts, "Activated experts of the FFN's grid: 1, 2, 4, ... up to this", 2, 1024);
  sub.integer("--tiles", flags->tiles, "Tiles of each expert in the FFN's grid: 1, 2, 4, ... up to this", 2, 1024);
  sub.integer("--threads", flags->threads, "Threads that the worker computes with", 1, 256);
  sub.option("--cost", flags->base,
             "Where the other values come from: a100, h100, h200, cpu or a cost file (default: cpu, or h100 for "
             "GPUs)")
      .value_name("NAME|FILE");
  sub.option("-o,--output", flags->output, "The cost file; - is standard output").value_name("FILE").show_default();
  sub.flag("--force", flags->force, "Replace an existing file");
  sub.examples({{"What copies and experts of a model cost on this machine, for the planner",
                 "afore-migrate calibrate -q --model afore-tiny -b 64K -e 1M -n 5 \\\n"
                 "  -o here.json\n"
                 "afore-trace synth --model afore-tiny --steps 5 --tokens 512 |\n"
                 "  afore-plan --workers 4 --tile-tokens 8 --cost here.json > planned.jsonl"},
                {"Copies alone, on standard output, from another base",
                 "afore-migrate calibrate -q -b 64K -e 1M -n 5 --cost a100"}});
  sub.on_run([app, &arguments, flags] {
    refuse_flags_before_command(app, "calibrate");
    run_calibrate(*flags, arguments);
  });
}

}  // namespace afore::cli
