#include "bench/gpu/run_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "util/error.h"
#include "util/line_io.h"
#include "wire/sm_split.h"

namespace afore::bench::gpu {
namespace {

constexpr std::size_t kMostBytes = std::size_t{256} << 20;
constexpr double kCopyGoal = 0.9;

std::vector<std::string> fields_of(const std::string& line) {
  std::vector<std::string> fields;
  std::istringstream in(line);
  for (std::string field; std::getline(in, field, '\t');) fields.push_back(field);
  return fields;
}

Figure figure(const std::string& section, const std::string& name, const std::string& unit, double value) {
  return {.section = section,
          .name = name,
          .unit = unit,
          .value = value,
          .p95 = {},
          .n = 1,
          .note = {},
          .goal = {},
          .met = false};
}

// The first with that name, if it was measured.
const Figure* find(const Report& report, const std::string& section, const std::string& name) {
  for (const Figure& figure : report.figures)
    if (figure.section == section && figure.name == name) return &figure;
  return nullptr;
}

struct Spread {
  double p50 = 0, p95 = 0;
};
Spread spread(wire::JsonValue value) {
  wire::ObjectReader object(value);
  return {object.required("p50").number(), object.required("p95").number()};
}

// ", 64 of 132 SMs each (green contexts)"; empty where no workers share a GPU.
std::string sms_of(wire::ObjectReader& point) {
  const wire::JsonValue split = point.find("sm_partitions");
  return split ? ", " + describe(wire::read_sm_split(split)) : "";
}

std::string wrong_bytes(std::int64_t wrong) { return wrong == 0 ? "" : fmt::format("{} bytes arrived wrong", wrong); }

}  // namespace

std::string read_text(const std::string& path) {
  if (!std::filesystem::exists(path)) return "";
  const std::vector<std::uint8_t> bytes = read_file_bytes(path, kMostBytes);
  return {bytes.begin(), bytes.end()};
}

std::vector<RunStep> read_steps(const std::string& folder) {
  const std::string path = folder + "/steps.tsv";
  std::vector<RunStep> steps;
  std::istringstream in(read_text(path));
  for (std::string line; std::getline(in, line);) {
    const std::vector<std::string> fields = fields_of(line);
    if (fields.size() == 3 && fields[0] == "skipped") {
      steps.push_back({fields[0], fields[1], 0, 0, fields[2]});
      continue;
    }
    if (fields.size() != 4) throw Error(ErrorKind::data, path + ": not a step: " + line);
    steps.push_back({fields[0], fields[1], std::atoi(fields[2].c_str()), std::atof(fields[3].c_str()), ""});
  }
  return steps;
}

// As many copies at once as there are pairs of workers; what a GPU copies it reads and writes.
void add_copies(const std::string& name, const std::string& text, Report& report) {
  wire::JsonTree tree;
  wire::ObjectReader object(tree.parse_syntax(text, name));
  wire::ObjectReader config(object.required("config"));
  const std::int64_t ports = config.required("workers").integer() / 2, n = config.required("iters").integer();
  const Figure* ceiling = find(report, "ceilings", "copy on the device, large");
  for (const wire::JsonValue item : object.required("results")) {
    wire::ObjectReader result(item);
    wire::ObjectReader times(result.required("per_iter"));
    wire::ObjectReader outcome(result.required("out_of_place"));
    const double bytes = 2.0 * static_cast<double>(ports * result.required("size").integer());
    Figure rate = figure("migrate", fmt::format("{}, {} copies at once", name, ports), "GB/s",
                         bytes / times.required("p50_us").number() / 1e3);
    rate.p95 = bytes / times.required("p95_us").number() / 1e3;
    rate.n = n;
    rate.note = fmt::format("path {}, {} bytes each, read + written", result.required("path").string(),
                            result.required("size").integer());
    if (ceiling != nullptr) {
      rate.goal = fmt::format(">= {} of the device's copy rate", kCopyGoal);
      rate.met = rate.value >= kCopyGoal * ceiling->value;
    }
    report.figures.push_back(rate);
    const wire::JsonValue wrong = outcome.required("nwrong");
    report.check("migrate", name + ": bytes", wrong.is_null() ? "not compared" : wrong_bytes(wrong.integer()));
    ceiling = find(report, "ceilings", "copy on the device, large");  // the list has grown
  }
}

// The window is the FFN alone, the raw time the copies alone.
void add_overlap(const std::string& name, const std::string& text, Report& report) {
  wire::JsonTree tree;
  wire::ObjectReader object(tree.parse_syntax(text, name));
  wire::ObjectReader config(object.required("config"));
  const std::int64_t n = config.required("iters").integer();
  for (const wire::JsonValue item : object.required("results")) {
    wire::ObjectReader point(item);
    const Spread copy = spread(point.required("copy_us")), ffn = spread(point.required("ffn_us"));
    const Spread exposed = spread(point.required("exposed_us"));
    const std::string of = fmt::format("{}, {} tokens", name, point.required("tokens_per_expert").integer());
    const auto add = [&](const std::string& what, const Spread& us) -> Figure& {
      Figure& added = report.figures.emplace_back(figure("overlap", of + ": " + what, "us", us.p50));
      added.p95 = us.p95;
      added.n = n;
      return added;
    };
    add("copies alone", copy);
    add("window (FFN alone)", ffn);
    Figure& left = add("exposed", exposed);
    const std::string sms = sms_of(point);
    left.note = fmt::format("path {}{}", point.required("path").string(), sms);
    if (ffn.p50 > copy.p50) {
      left.goal = "0, the window is longer";
      left.met = exposed.p50 <= 0;
    } else {
      left.note += ", the window is shorter than the copies";
    }
    Figure slowdown = figure("overlap", of + ": slowdown of the FFN", "", point.required("ffn_slowdown").number());
    if (!sms.empty()) slowdown.note = sms.substr(2);
    report.figures.push_back(slowdown);
    report.check("overlap", of + ": bytes", wrong_bytes(point.required("nwrong").integer()));
  }
}

void add_load(const std::string& name, const std::string& text, Report& report) {
  std::istringstream in(text);
  wire::JsonTree tree;
  bool summarized = false;
  for (std::string line; std::getline(in, line);) {
    wire::ObjectReader record(tree.parse_syntax(line, name));
    if (record.required("kind").string() != "summary") continue;
    summarized = true;
    const std::pair<const char*, const char*> keys[] = {
        {"output_throughput", "tokens/s"}, {"median_ttft_ms", "ms"}, {"median_itl_ms", "ms"}, {"p99_itl_ms", "ms"}};
    const std::int64_t tokens = record.required("total_output_tokens").integer();
    std::string device;  // with the workers that share it
    if (const wire::JsonValue afore = record.find("afore"))
      if (const wire::JsonValue told = wire::ObjectReader(afore).find("device"); told && !told.is_null())
        device = told.string();
    for (const auto& [key, unit] : keys) {
      const wire::JsonValue value = record.required(key);
      if (value.is_null()) continue;
      Figure& added = report.figures.emplace_back(figure("serve", name + ": " + key, unit, value.number()));
      added.n = tokens;
      added.note = device;
    }
  }
  report.check("serve", name + ": summary", summarized ? "" : "there is none");
}

void add_planner(const std::string& text, Report& report) {
  std::istringstream in(text);
  std::string line;
  std::getline(in, line);
  const std::vector<std::string> head = fields_of(line);
  while (std::getline(in, line)) {
    const std::vector<std::string> row = fields_of(line);
    if (row.size() != head.size() || row.size() < 5) throw Error(ErrorKind::data, "planner: not a row: " + line);
    if (row[0] != "afore") continue;
    for (std::size_t i = 3; i < row.size(); ++i) {  // planner_us, planner_p99, call_us, ...
      const std::string what = head[i].ends_with("_us") ? head[i].substr(0, head[i].rfind('_')) : head[i];
      Figure& added = report.figures.emplace_back(figure(
          "planner", fmt::format("{}, {} experts, {} workers", what, row[1], row[2]), "us", std::atof(row[i].c_str())));
      added.n = 1024;
      added.note = "on the host";
    }
  }
}

}  // namespace afore::bench::gpu
