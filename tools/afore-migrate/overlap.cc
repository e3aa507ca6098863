// Copies of experts beside expert FFN: what of them stays exposed.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "afore-migrate/commands.h"
#include "afore-migrate/device_flags.h"
#include "afore-migrate/report.h"
#include "afore-migrate/shape_flags.h"
#include "common/cli.h"
#include "common/messages.h"
#include "common/parse.h"
#include "common/progress.h"
#include "common/publish.h"
#include "common/signals.h"
#include "device/overlap_bench.h"
#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {
namespace {

struct OverlapFlags {
  DeviceFlags device;
  ShapeFlags shape;
  std::string pattern = "pairs", tokens = "8,32", json_file;
  std::int64_t workers = 2, threads = 1, experts = 4, copies = 1, iters = 20, warmup_iters = 3, seed = 0;
  bool json = false;
};

struct Plan {  // of the measurement
  OpenDevice device;
  device::DeviceInfo info;
  device::OverlapOptions options;
  std::vector<int> tokens;
  int threads = 0;  // that run at the same time on the host
  bool crowded() const { return threads > info.units; }
};

Plan resolve(const OverlapFlags& flags) {
  Plan plan;
  plan.options.sizes = expert_sizes(flags.shape);
  plan.options.pattern = resolve_pattern(flags.pattern, flags.workers);
  plan.options.workers = static_cast<int>(flags.workers);
  plan.options.experts = static_cast<int>(flags.experts);
  plan.options.copies = static_cast<int>(flags.copies);
  plan.options.iters = static_cast<int>(flags.iters);
  plan.options.warmup_iters = static_cast<int>(flags.warmup_iters);
  plan.options.seed = static_cast<std::uint64_t>(flags.seed);
  plan.tokens = parse_int_list(flags.tokens, "--tokens");
  if (plan.tokens.empty() || plan.tokens.front() < 1)
    throw Error(ErrorKind::usage, "--tokens: each window has at least 1 token per expert");
  plan.device = open_device(flags.device, flags.workers, flags.threads, flags.shape.tile_tokens);
  const device::Transfers& transfers = *plan.device.transfers;
  plan.info = transfers.info(plan.device.paths.front());
  const double slots = static_cast<double>(device::overlap_slots(plan.options)) *
                       static_cast<double>(transfers.stride_bytes(transfers.expert_bytes(plan.options.sizes)));
  const double rows = static_cast<double>(flags.experts) * plan.tokens.back() *
                      static_cast<double>(plan.options.sizes.hidden) * 2 * sizeof(float);
  check_memory(plan.device, slots + rows, fmt::format("--experts {} --copies {}", flags.experts, flags.copies),
               "use fewer of them, fewer --tokens or fewer --workers");
  plan.threads = device::overlap_threads(plan.options, transfers);
  return plan;
}

struct Result {
  std::vector<std::pair<device::CopyPath, device::OverlapPoint>> points;
  bool interrupted = false;

  std::int64_t wrong() const {
    std::int64_t sum = 0;
    for (const auto& [path, point] : points) sum += point.wrong;
    return sum;
  }
};

std::string table_head(const Plan& plan) {
  const device::OverlapOptions& options = plan.options;
  std::string text = fmt::format(
      "# {}: expert copies beside expert FFN, measured\n"
      "# device: {}\n"
      "# pattern: {} seed: {}\n"
      "# expert: {} x {}, {} bytes; {} computed on each worker, {} copied to each receiver; warmup iters: {} iters: "
      "{}\n",
      producer("afore-migrate"), describe(plan.info),
      options.pattern == device::CopyPattern::pairs ? "pairs" : "fanout", options.seed, options.sizes.hidden,
      options.sizes.intermediate, plan.device.transfers->expert_bytes(options.sizes), options.experts, options.copies,
      options.warmup_iters, options.iters);
  if (plan.crowded())
    text +=
        fmt::format("# {} threads on {} processors: copies take turns with the FFN, and its slowdown is their price\n",
                    plan.threads, plan.info.units);
  return text;
}

std::string path_head(const Plan& plan, device::CopyPath path) {
  return fmt::format(
      "#\n# path: {} workers: {}\n"
      "# {:>7} {:>21} {:>21} {:>21} {:>6} {:>21} {:>21} {:>7} {:>7}\n"
      "# {:>7} {:>21} {:>21} {:>21} {:>6} {:>21} {:>21} {:>7} {:>7}\n",
      to_string(path), describe_workers(plan.device.transfers->info(path), plan.options.workers), "tokens",
      "copy alone", "FFN alone", "FFN beside", "slow-", "copy beside", "exposed", "hidden", "#wrong", "",
      "p50 / p95 (us)", "p50 / p95 (us)", "p50 / p95 (us)", "down", "p50 / p95 (us)", "p50 / p95 (us)", "(%)", "");
}

std::string table_row(const device::OverlapPoint& p) {
  const auto both = [](const device::Spread& us) { return fmt::format("{:.1f} / {:.1f}", us.p50, us.p95); };
  return fmt::format("  {:>7} {:>21} {:>21} {:>21} {:>6.2f} {:>21} {:>21} {:>7.1f} {:>7}\n", p.tokens, both(p.copy_us),
                     both(p.ffn_us), both(p.ffn_beside_us), p.ffn_slowdown, both(p.copy_beside_us), both(p.exposed_us),
                     100 * p.hidden_share, p.wrong);
}

Result measure(const Plan& plan, const OverlapFlags& flags, const std::function<void(const std::string&)>& print) {
  device::Transfers& transfers = *plan.device.transfers;
  Result result;
  Progress progress("windows", static_cast<std::int64_t>(plan.tokens.size() * plan.device.paths.size()),
                    flags.json ? Progress::Output::at_end : Progress::Output::streams);
  for (const device::CopyPath path : plan.device.paths) {
    transfers.reserve(
        path, device::overlap_slots(plan.options) * transfers.stride_bytes(transfers.expert_bytes(plan.options.sizes)));
    device::OverlapBench bench(transfers, plan.options, plan.tokens.back());
    if (path == plan.device.paths.front()) print(table_head(plan));  // the device has taken the sizes
    print(path_head(plan, path));
    for (const int tokens : plan.tokens) {
      const auto point = bench.run(tokens, plan.device.stop);
      if (!point) {
        result.interrupted = true;
        print(time_is_up() ? "# Time limit: the windows above are all that was measured\n"
                           : "# Interrupted: the windows above are all that was measured\n");
        return result;
      }
      result.points.push_back({path, *point});
      print(table_row(*point));
      progress.add();
    }
  }
  return result;
}

void write_spread(wire::JsonWriter& json, const char* name, const device::Spread& us) {
  json.key(name);
  json.open('{');
  json.real("p50", us.p50);
  json.real("p95", us.p95);
  json.close('}');
}

void write_config(wire::JsonWriter& json, const Plan& plan, const OverlapFlags& flags) {
  json.key("config");
  json.open('{');
  json.integer("workers", flags.workers);
  json.string("pattern", flags.pattern);
  json.integer("hidden", plan.options.sizes.hidden);
  json.integer("intermediate", plan.options.sizes.intermediate);
  json.integer("expert_bytes", plan.device.transfers->expert_bytes(plan.options.sizes));
  json.integer("tile_tokens", plan.device.transfers->tile_tokens());
  json.integer("experts", flags.experts);
  json.integer("copies", flags.copies);
  json.integer("worker_threads", flags.threads);
  json.integer("threads", plan.threads);
  json.boolean("enough_processors", !plan.crowded());
  json.integer("warmup_iters", flags.warmup_iters);
  json.integer("iters", flags.iters);
  json.integer("seed", flags.seed);
  json.close('}');
}

void write_point(wire::JsonWriter& json, const Plan& plan, device::CopyPath path, const device::OverlapPoint& p) {
  json.separate();
  json.open('{');
  json.string("path", to_string(path));
  write_workers_of(json, plan.device.transfers->info(path));
  json.integer("tokens_per_expert", p.tokens);
  write_spread(json, "copy_us", p.copy_us);
  write_spread(json, "ffn_us", p.ffn_us);
  write_spread(json, "ffn_beside_us", p.ffn_beside_us);
  json.real("ffn_slowdown", p.ffn_slowdown);
  write_spread(json, "copy_beside_us", p.copy_beside_us);
  write_spread(json, "exposed_us", p.exposed_us);
  json.real("hidden_share", p.hidden_share);
  json.integer("nwrong", p.wrong);
  json.key("exposed_times_us");
  json.open('[');
  for (const double time : p.exposed_times_us) {
    json.separate();
    wire::append_double(json.out(), time);
  }
  json.close(']');
  json.close('}');
}

std::string json_report(const Plan& plan, const OverlapFlags& flags, const Result& result, const RunFacts& facts) {
  std::string out;
  wire::JsonWriter json(out);
  json.open('{');
  write_run(json, "afore.migrate.overlap", facts, plan.device);
  write_config(json, plan, flags);
  json.key("results");
  json.open('[');
  for (const auto& [path, point] : result.points) write_point(json, plan, path, point);
  json.close(']');
  json.boolean("interrupted", result.interrupted);
  json.boolean("timed_out", result.interrupted && time_is_up());
  json.string("end_time", facts.end);
  json.close('}');
  return out + "\n";
}

void run_overlap(const OverlapFlags& flags, const std::vector<std::string>& arguments) {
  const std::string hint = "-J never overwrites: give another name";
  const Plan plan = resolve(flags);
  if (!flags.json_file.empty()) check_can_publish(flags.json_file, false, hint);
  if (plan.crowded())
    warn(fmt::format("{} threads on {} processors: what copies hide here, the FFN is slowed down by", plan.threads,
                     plan.info.units));
  ByteWriter out("-");
  const auto print = [&](const std::string& text) {
    if (flags.json) return;
    out.write(text);
    out.flush();  // someone may be watching
  };
  RunFacts facts{.arguments = arguments, .start = utc_now(), .end = {}, .min_gbps = {}};
  const Result result = measure(plan, flags, print);
  facts.end = utc_now();
  const std::string json = json_report(plan, flags, result, facts);
  if (flags.json) out.write(json);
  out.finish();
  if (!flags.json_file.empty()) publish(flags.json_file, json, false, hint);
  refuse_wrong_data(result.wrong());
  refuse_time_limit(
      flags.device, result.interrupted,
      fmt::format("{} of {} windows", result.points.size(), plan.tokens.size() * plan.device.paths.size()));
}

}  // namespace

void add_overlap(Command app, const std::vector<std::string>& arguments) {
  Command sub = app.command("overlap", "Copies of experts beside expert FFN: what of them it hides");
  sub.footer(
      "A window is the FFN of --experts experts with --tokens tokens each, on every worker; --copies experts arrive "
      "at\n"
      "each receiver meanwhile. Each iteration measures copies alone, FFN alone, and both together: exposed is how "
      "much\n"
      "later than its worker's FFN the last copy ends, hidden the share of the copies' time that is not. Exit 1 when "
      "a\n"
      "byte arrived wrong.");
  const auto flags = std::make_shared<OverlapFlags>();
  add_shape_flags(sub, flags->shape);
  sub.option("--tokens", flags->tokens, "Tokens of each expert, a list: one window each")
      .value_name("LIST")
      .show_default();
  sub.integer("--experts", flags->experts, "Experts that each worker computes", 1, 1024);
  sub.integer("--copies", flags->copies, "Experts that each receiver gets", 1, 1024);
  sub.integer("--workers", flags->workers, "Workers, each with an arena of its own", 2, 1024);
  sub.choice("--pattern", flags->pattern, "pairs: 0->1, 2->3, ... at once; fanout: 0 to all others through one port",
             {"pairs", "fanout"});
  sub.integer("--threads", flags->threads, "Threads that each worker computes with", 1, 256);
  sub.integer("-n,--iters", flags->iters, "Timed iterations of each window", 1, 1'000'000);
  sub.integer("-w,--warmup_iters", flags->warmup_iters, "Iterations before the timed ones", 0, 1'000'000);
  sub.integer("--seed", flags->seed, "Decides weights and activations", 0, kMaxSeed);
  add_device_flags(sub, flags->device);
  sub.option("-J,--json_file", flags->json_file, "Also write the results as JSON; never overwrites")
      .value_name("FILE")
      .beside_stdout();
  sub.flag("--json", flags->json, "The same JSON on standard output, instead of the table");
  sub.examples({{"Which windows hide the copy of an expert of a small model",
                 "afore-migrate overlap -q --model afore-tiny --tokens 8,64 -n 5"},
                {"Three experts for each receiver, for a program",
                 "afore-migrate overlap -q --hidden 512 --intermediate 256 --copies 3 -n 5 \\\n"
                 "  --json > overlap.json"}});
  sub.on_run([app, &arguments, flags] {
    refuse_flags_before_command(app, "overlap");
    run_overlap(*flags, arguments);
  });
}

}  // namespace afore::cli
