#include "afore-migrate/report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "common/cli.h"
#include "common/signals.h"
#include "wire/sm_split.h"

namespace afore::cli {

namespace {

const char* pattern_name(const Sweep& sweep) {
  return sweep.options.pattern == device::CopyPattern::pairs ? "pairs" : "fanout";
}

void write_config(wire::JsonWriter& json, const Sweep& sweep) {
  json.key("config");
  json.open('{');
  json.integer("workers", sweep.options.workers);
  json.string("pattern", pattern_name(sweep));
  json.integer("cpus", sweep.info().units);
  json.integer("min_bytes", sweep.min_bytes);
  json.integer("max_bytes", sweep.options.max_bytes);
  json.integer("step_factor", sweep.step_factor);
  json.integer("warmup_iters", sweep.options.warmup_iters);
  json.integer("iters", sweep.options.iters);
  json.integer("validation", sweep.options.check ? 1 : 0);
  json.integer("seed", static_cast<std::int64_t>(sweep.options.seed));
  json.close('}');
}

void write_workers(wire::JsonWriter& json, const Sweep& sweep) {
  json.key("devices");
  json.open('[');
  for (int worker = 0; worker < sweep.options.workers; ++worker) {
    json.separate();
    json.open('{');
    json.integer("rank", worker);
    json.string("device", sweep.info().kind);
    json.boolean("virtual", sweep.info().virtual_workers);
    if (sweep.info().sm_split) json.integer("sms", sweep.info().sm_split->sms_of_worker());
    json.close('}');
  }
  json.close(']');
}

void write_point(wire::JsonWriter& json, device::CopyPath path, const device::CopyPoint& p) {
  json.separate();
  json.open('{');
  json.integer("size", p.size_bytes);
  json.integer("count", p.size_bytes);
  json.string("type", "uint8");
  json.string("redop", "none");
  json.integer("root", -1);
  json.string("path", to_string(path));
  json.key("out_of_place");
  json.open('{');
  json.real("time", p.avg_us);
  json.real("alg_bw", p.algbw_gbps);
  json.real("bus_bw", p.busbw_gbps);
  json.integer_or_null("nwrong", p.wrong);
  json.close('}');
  json.key("per_iter");
  json.open('{');
  json.integer("skipped_iterations", 0);
  const std::pair<const char*, double> times[] = {{"min_us", p.min_us},     {"max_us", p.max_us}, {"avg_us", p.avg_us},
                                                  {"p50_us", p.p50_us},     {"p95_us", p.p95_us}, {"p99_us", p.p99_us},
                                                  {"stdev_us", p.stdev_us}, {"cv_pct", p.cv_pct}};
  for (const auto& [name, value] : times) json.real(name, value);
  json.key("times_us");
  json.open('[');
  for (const double time : p.times_us) {
    json.separate();
    wire::append_double(json.out(), time);
  }
  json.close(']');
  json.close('}');
  json.close('}');
}

void write_bounds(wire::JsonWriter& json, std::int64_t wrong) {
  json.key("out_of_bounds");
  json.open('{');
  json.integer("count", wrong);
  json.boolean("okay", wrong == 0);
  json.close('}');
}

void write_bandwidth(wire::JsonWriter& json, double gbps, const std::optional<double>& min_gbps) {
  json.key("average_bus_bandwidth");
  json.open('{');
  json.real("bandwidth", gbps);
  json.boolean("okay", !min_gbps || gbps >= *min_gbps);
  json.close('}');
}

// Mean over all sizes and paths, and whether each path has its least.
void write_totals(wire::JsonWriter& json, const Sweep& sweep, const SweepResult& result,
                  const std::optional<double>& min_gbps) {
  json.key("paths");
  json.open('[');
  double sum = 0;
  for (const PathResult& path : result.paths) {
    json.separate();
    json.open('{');
    json.string("path", to_string(path.path));
    write_workers_of(json, sweep.info(path.path));
    write_bounds(json, path.wrong);
    write_bandwidth(json, average_bus_bandwidth(path), min_gbps);
    json.close('}');
    sum += average_bus_bandwidth(path) * static_cast<double>(path.points.size());
  }
  json.close(']');
  write_bounds(json, result.wrong());
  write_bandwidth(json, sum / std::max(1.0, static_cast<double>(result.points())), min_gbps);
  json.real_or_null("min_bus_bandwidth", min_gbps);
}

}  // namespace

std::string utc_now() {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(seconds));
}

std::string table_head(const Sweep& sweep) {
  return fmt::format(
      "# {}: expert copies between arenas, measured\n"
      "# device: {}\n"
      "# pattern: {} seed: {}\n"
      "# minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} validation: {}\n",
      producer("afore-migrate"), describe(sweep.info()), pattern_name(sweep), sweep.options.seed, sweep.min_bytes,
      sweep.options.max_bytes, sweep.step_factor, sweep.options.warmup_iters, sweep.options.iters,
      sweep.options.check ? 1 : 0);
}

std::string path_head(const Sweep& sweep, device::CopyPath path) {
  return fmt::format(
      "#\n"
      "# path: {} workers: {}\n"
      "# {:>12} {:>13} {:>7} {:>7} {:>6} {:>10} {:>8} {:>8} {:>7} {:>10} {:>7}\n"
      "# {:>12} {:>13} {:>7} {:>7} {:>6} {:>10} {:>8} {:>8} {:>7} {:>10} {:>7}\n",
      to_string(path), describe_workers(sweep.info(path), sweep.options.workers), "size", "count", "type", "redop",
      "root", "time", "algbw", "busbw", "#wrong", "i_p99", "i_cv%", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)",
      "(GB/s)", "", "(us)", "");
}

std::string table_row(const device::CopyPoint& p) {
  return fmt::format("  {:>12} {:>13} {:>7} {:>7} {:>6} {:>10.2f} {:>8.2f} {:>8.2f} {:>7} {:>10.2f} {:>7.2f}\n",
                     p.size_bytes, p.size_bytes, "uint8", "none", -1, p.avg_us, p.algbw_gbps, p.busbw_gbps,
                     p.wrong ? fmt::format("{}", *p.wrong) : "N/A", p.p99_us, p.cv_pct);
}

double average_bus_bandwidth(const PathResult& result) {
  double sum = 0;
  for (const device::CopyPoint& point : result.points) sum += point.busbw_gbps;
  return result.points.empty() ? 0 : sum / static_cast<double>(result.points.size());
}

std::string path_foot(const PathResult& result, bool interrupted) {
  const char* note = !interrupted   ? ""
                     : time_is_up() ? "# Time limit: the sizes above are all that was measured\n"
                                    : "# Interrupted: the sizes above are all that was measured\n";
  return fmt::format("{}# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.4f}\n", note, result.wrong,
                     result.wrong == 0 ? "OK" : "FAILED", average_bus_bandwidth(result));
}

void write_run(wire::JsonWriter& json, const char* schema, const RunFacts& facts, const OpenDevice& device) {
  json.string("schema", schema);
  json.integer("schema_version", 1);
  json.string("version", producer("afore-migrate"));
  json.boolean("measured", true);
  json.string("start_time", facts.start);
  json.strings("args", facts.arguments);
  const device::DeviceInfo info = device.transfers->info(device.paths.front());
  json.key("device");
  json.open('{');
  json.string("kind", info.kind);
  json.string("name", info.name);
  json.string("arithmetic", info.arithmetic);
  json.integer("units", info.units);
  json.close('}');
}

void write_workers_of(wire::JsonWriter& json, const device::DeviceInfo& info) {
  json.integer("workers_per_unit", info.workers_per_unit);
  json.boolean("virtual_workers", info.virtual_workers);
  if (info.sm_split) {
    json.key("sm_partitions");
    wire::write_sm_split(json, *info.sm_split);
  }
}

std::string json_report(const Sweep& sweep, const SweepResult& result, const RunFacts& facts) {
  std::string out;
  wire::JsonWriter json(out);
  json.open('{');
  write_run(json, "afore.migrate.result", facts, sweep.device);
  write_config(json, sweep);
  write_workers(json, sweep);
  json.key("results");
  json.open('[');
  for (const PathResult& path : result.paths)
    for (const device::CopyPoint& point : path.points) write_point(json, path.path, point);
  json.close(']');
  write_totals(json, sweep, result, facts.min_gbps);
  json.boolean("interrupted", result.interrupted);
  json.boolean("timed_out", result.interrupted && time_is_up());
  json.strings("errors", std::vector<std::string>{});
  json.string("end_time", facts.end);
  json.close('}');
  return out + "\n";
}

}  // namespace afore::cli
