// `afore-trace fit-cost`: the cost model's coefficients from measured tables, and how far off they are.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <memory>

#include "commands.h"
#include "common/presets.h"
#include "common/publish.h"
#include "fit_report.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/measured.h"
#include "wire/wire.h"

namespace afore::cli {
namespace {

struct FitOptions {
  std::vector<std::string> files;
  std::string device, base, ffn, link, output;
  std::int64_t seed = 0;
  bool force = false;
};

std::vector<MeasuredTable> read_tables(const FitOptions& o) {
  std::string device = o.device;
  if (!device.empty() && wire::device_in(device) != device)
    throw Error(ErrorKind::usage, fmt::format("--device: \"{}\" is no GPU that is known", device),
                "lower case, as h100 or a800");
  std::vector<MeasuredTable> tables;
  for (const std::string& file : o.files) {
    const wire::CsvTable csv(read_file_bytes(file, wire::kMaxCsvBytes), file);
    tables.push_back(wire::read_measured(csv, device));
  }
  return tables;
}

// The group called `name`, or the only one there is; nullptr when there is none of this kind and none was asked for.
const fit::GroupFit* pick(const std::vector<fit::GroupFit>& groups, bool links, const std::string& name,
                          const char* flag) {
  std::vector<const fit::GroupFit*> of_kind;
  std::vector<std::string> names;
  for (const fit::GroupFit& group : groups) {
    const bool is_link = group.form == TableForm::nccl || group.form == TableForm::deepep;
    if (is_link != links || group.parameters == 0) continue;
    if (group.name == name) return &group;
    of_kind.push_back(&group);
    names.push_back(group.name);
  }
  if (!name.empty())
    throw Error(ErrorKind::usage, fmt::format("{}: there is no fitted group \"{}\"", flag, name),
                fmt::format("fitted: {}", fmt::join(names, ", ")));
  if (of_kind.size() > 1 && !links)
    throw Error(ErrorKind::usage, fmt::format("{} groups were fitted, and a cost file holds one", of_kind.size()),
                fmt::format("choose with {}: {}", flag, fmt::join(names, ", ")));
  return of_kind.size() == 1 ? of_kind.front() : nullptr;
}

// A rate or a time below what a cost file can hold is no measurement of anything.
Nanos whole_ns(double ns, std::int64_t least) { return std::max<Nanos>(least, std::llround(ns)); }

std::string cost_file(const FitOptions& o, const FitResult& result, const HardwareProfile* base) {
  const fit::GroupFit* ffn = pick(result.groups, false, o.ffn, "--ffn");
  const fit::GroupFit* link = pick(result.groups, true, o.link, "--link");
  if (ffn == nullptr && link == nullptr)
    throw Error(ErrorKind::usage, "nothing to write into a cost file", "choose links with --link GROUP");
  if (ffn != nullptr && link != nullptr && ffn->device != link->device)
    throw Error(ErrorKind::usage, fmt::format("--ffn is of {}, --link of {}", ffn->device, link->device),
                "a cost file describes one machine");
  const std::string& device = ffn != nullptr ? ffn->device : link->device;
  HardwareProfile profile;
  if (base != nullptr) profile = *base;
  else if (const HardwareProfile* same = built_in_for(device)) profile = *same;
  else
    throw Error(ErrorKind::usage, fmt::format("there is no built-in profile for {}", device),
                "say with --cost where the other values come from");
  profile.name = device + "+fitted";
  profile.measured.reset();  // of other values than these
  if (ffn != nullptr) {
    profile.ffn_c0_ns = whole_ns(ffn->model.c[0], 0);
    profile.ffn_c1_ns = whole_ns(ffn->model.c[1], 1);
    profile.ffn_c2_ns = whole_ns(ffn->model.c[2], 1);
    profile.ffn_tile_tokens = ffn->tile_tokens;
  }
  if (link != nullptr) {
    if (!(link->model.c[1] > 0))
      throw Error(ErrorKind::answer_no, link->name + ": times do not grow with the size, so there is no rate",
                  "choose other links");
    profile.link_latency_ns = whole_ns(link->model.c[0], 0);
    profile.link_bytes_per_s = std::round(1e9 / link->model.c[1]);
    profile.link_efficiency = 1;
  }
  return wire::to_json(profile) + "\n";
}

std::string what_it_holds(const FitOptions& o, const FitResult& result) {
  const fit::GroupFit* ffn = pick(result.groups, false, o.ffn, "--ffn");
  const fit::GroupFit* link = pick(result.groups, true, o.link, "--link");
  std::string text = "\n" + o.output + ":";
  if (ffn != nullptr) {
    text += fmt::format(" FFN times of {}, for --tile-tokens {} and experts of this size only;", ffn->name,
                        ffn->tile_tokens);
  }
  if (link != nullptr) text += fmt::format(" links of {};", link->name);
  return text + " the other values are not measured here\n";
}

void run_fit(const FitOptions& o) {
  if (o.output.empty() && !(o.ffn.empty() && o.link.empty() && o.base.empty()))
    throw Error(ErrorKind::usage, "--ffn, --link and --cost choose what goes into a cost file", "name it with -o");
  HardwareProfile base;
  if (!o.base.empty()) base = load_cost(o.base);
  if (!o.output.empty()) check_can_publish(o.output, o.force, kForceHint);
  std::vector<MeasuredTable> tables = read_tables(o);
  fit::refuse_copies(tables);
  FitResult result;
  result.seed = static_cast<std::uint64_t>(o.seed);
  result.repeats = fit::drop_repeats(tables);
  for (const MeasuredTable& table : tables) {
    std::vector<fit::Fall> falls = fit::falling_times(table);
    result.falls.insert(result.falls.end(), falls.begin(), falls.end());
  }
  result.groups = fit::fit_groups(tables, result.seed);
  std::string report = fit_report(result);
  if (!o.output.empty()) {
    publish(o.output, cost_file(o, result, o.base.empty() ? nullptr : &base), o.force, kForceHint);
    report += what_it_holds(o, result);
  }
  ByteWriter out("-");
  out.write(report);
  out.finish();
}

}  // namespace

void add_fit_cost(Command app) {
  Command sub = app.command("fit-cost", "Fit the cost model to measured tables, judge it on rows it did not see");
  auto o = std::make_shared<FitOptions>();
  sub.option("TABLE", o->files, "CSV tables of measured grouped products and links (docs/metrics.md has the forms)")
      .required();
  sub.option("--device", o->device, "The GPU that was measured, where neither a column nor the file's name says");
  sub.integer("--seed", o->seed, "Of the halves and of the drawn loads", 0, std::int64_t{1} << 53);
  sub.option("-o,--output", o->output, "Also write a cost file for --cost of afore-plan and afore-serve")
      .value_name("FILE")
      .beside_stdout();
  sub.option("--ffn", o->ffn, "Group whose FFN times the cost file gets, where there are several").value_name("GROUP");
  sub.option("--link", o->link, "Group whose latency and rate the cost file gets as its links").value_name("GROUP");
  sub.option("--cost", o->base, "Where the cost file's other values come from (default: the device's profile)")
      .value_name("NAME|FILE");
  sub.flag("--force", o->force, "Replace an existing file");
  sub.examples({{"A link of 12 us and 300 GB/s, found in a table of its times",
                 "{\n"
                 "  echo device,op_name,nccl_dtype,num_gpus,message_size,latency\n"
                 "  for ((size = 1024; size <= 1 << 28; size *= 4)); do\n"
                 "    awk \"BEGIN { print \\\"NVIDIA H100,alltoall,int8,8,$size,\\\" \\\n"
                 "      (12 + $size * 7 / 8 / 300e3) / 1000 }\"\n"
                 "  done\n"
                 "} > links.csv\n"
                 "afore-trace fit-cost links.csv"},
                {"A cost file of it, which the planner takes",
                 "afore-trace fit-cost links.csv -o mine.json \\\n"
                 "  --link h100/nccl/alltoall/gpus=8\n"
                 "afore-trace synth --model gpt-oss-20b --steps 5 --tokens 512 |\n"
                 "  afore-plan --workers 4 --cost mine.json > planned.jsonl"}});
  sub.on_run([o] { run_fit(*o); });
}

}  // namespace afore::cli
