#include "afore-migrate/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <thread>

#include "common/cli.h"

namespace afore::cli {

namespace {

const char* pattern_name(const Sweep& sweep) {
  return sweep.options.pattern == migrate::CopyPattern::pairs ? "pairs" : "fanout";
}

std::string json_string(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte >= 0x7f) {
      out += fmt::format("\\u{:04x}", byte);  // an argument's bytes as Latin-1: always valid JSON
    } else {
      out += c;
    }
  }
  return out + "\"";
}

std::string json_point(const migrate::CopyPoint& p) {
  return fmt::format(
      R"({{"size":{},"count":{},"type":"uint8","redop":"none","root":-1,)"
      R"("out_of_place":{{"time":{},"alg_bw":{},"bus_bw":{},"nwrong":{}}},)"
      R"("per_iter":{{"skipped_iterations":0,"min_us":{},"max_us":{},"avg_us":{},"p50_us":{},"p95_us":{},"p99_us":{},)"
      R"("stdev_us":{},"cv_pct":{},"times_us":[{}]}}}})",
      p.size_bytes, p.size_bytes, p.avg_us, p.algbw_gbps, p.busbw_gbps, p.wrong ? fmt::format("{}", *p.wrong) : "null",
      p.min_us, p.max_us, p.avg_us, p.p50_us, p.p95_us, p.p99_us, p.stdev_us, p.cv_pct, fmt::join(p.times_us, ","));
}

}  // namespace

std::string table_head(const Sweep& sweep) {
  return fmt::format(
      "# {}: expert copies between host arenas, measured\n"
      "# workers: {} pattern: {} cpus: {} seed: {}\n"
      "# minBytes {} maxBytes {} step: {}(factor) warmup iters: {} iters: {} validation: {}\n"
      "#\n"
      "# {:>12} {:>13} {:>7} {:>7} {:>6} {:>10} {:>8} {:>8} {:>7} {:>10} {:>7}\n"
      "# {:>12} {:>13} {:>7} {:>7} {:>6} {:>10} {:>8} {:>8} {:>7} {:>10} {:>7}\n",
      producer("afore-migrate"), sweep.options.workers, pattern_name(sweep), std::thread::hardware_concurrency(),
      sweep.options.seed, sweep.min_bytes, sweep.options.max_bytes, sweep.step_factor, sweep.options.warmup_iters,
      sweep.options.iters, sweep.options.check ? 1 : 0, "size", "count", "type", "redop", "root", "time", "algbw",
      "busbw", "#wrong", "i_p99", "i_cv%", "(B)", "(elements)", "", "", "", "(us)", "(GB/s)", "(GB/s)", "", "(us)", "");
}

std::string table_row(const migrate::CopyPoint& p) {
  return fmt::format("  {:>12} {:>13} {:>7} {:>7} {:>6} {:>10.2f} {:>8.2f} {:>8.2f} {:>7} {:>10.2f} {:>7.2f}\n",
                     p.size_bytes, p.size_bytes, "uint8", "none", -1, p.avg_us, p.algbw_gbps, p.busbw_gbps,
                     p.wrong ? fmt::format("{}", *p.wrong) : "N/A", p.p99_us, p.cv_pct);
}

double average_bus_bandwidth(const SweepResult& result) {
  double sum = 0;
  for (const migrate::CopyPoint& point : result.points) sum += point.busbw_gbps;
  return result.points.empty() ? 0 : sum / static_cast<double>(result.points.size());
}

std::string table_foot(const SweepResult& result) {
  return fmt::format("{}# Out of bounds values : {} {}\n# Avg bus bandwidth    : {:.4f}\n",
                     result.interrupted ? "# Interrupted: the sizes above are all that was measured\n" : "",
                     result.wrong, result.wrong == 0 ? "OK" : "FAILED", average_bus_bandwidth(result));
}

std::string json_report(const std::vector<std::string>& arguments, const Sweep& sweep, const SweepResult& result,
                        const RunTimes& times) {
  std::vector<std::string> args, devices, points;
  for (const std::string& argument : arguments) args.push_back(json_string(argument));
  for (int worker = 0; worker < sweep.options.workers; ++worker) {
    devices.push_back(fmt::format(R"({{"rank":{},"device":"host"}})", worker));
  }
  for (const migrate::CopyPoint& point : result.points) points.push_back(json_point(point));
  return fmt::format(
      R"({{"schema":"afore.migrate.result","schema_version":1,"version":{},"measured":true,"start_time":{},"args":[{}],)"
      R"("config":{{"workers":{},"pattern":"{}","cpus":{},"min_bytes":{},"max_bytes":{},"step_factor":{},)"
      R"("warmup_iters":{},"iters":{},"validation":{},"seed":{}}},"devices":[{}],"results":[{}],)"
      R"("out_of_bounds":{{"count":{},"okay":{}}},"average_bus_bandwidth":{{"bandwidth":{},"okay":true}},)"
      R"("interrupted":{},"errors":[],"end_time":{}}})"
      "\n",
      json_string(producer("afore-migrate")), json_string(times.start), fmt::join(args, ","), sweep.options.workers,
      pattern_name(sweep), std::thread::hardware_concurrency(), sweep.min_bytes, sweep.options.max_bytes,
      sweep.step_factor, sweep.options.warmup_iters, sweep.options.iters, sweep.options.check ? 1 : 0,
      sweep.options.seed, fmt::join(devices, ","), fmt::join(points, ","), result.wrong, result.wrong == 0,
      average_bus_bandwidth(result), result.interrupted, json_string(times.end));
}

}  // namespace afore::cli
