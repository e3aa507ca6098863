// afore-plan check: every violation in a map file of another system, before its server finds the first one.
#include "afore-plan/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "afore-plan/counted.h"
#include "afore-plan/map_flags.h"
#include "common/map_file.h"
#include "common/messages.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/foreign/check_map.h"
#include "wire/json_tree.h"
#include "wire/json_writer.h"

namespace afore::plan {
namespace {

struct CheckOptions {
  std::string file, target, model_class;
  std::int64_t workers = 0;  // 0 = not given
  bool json = false;
  cli::ModelFlags model;
};

wire::MapTarget target_of(const std::string& name) {
  for (const wire::MapTarget target : {wire::MapTarget::sglang, wire::MapTarget::vllm, wire::MapTarget::trtllm,
                                       wire::MapTarget::ascend, wire::MapTarget::eplb})
    if (wire::to_string(target) == name) return target;
  throw Error(ErrorKind::internal, "an unknown format passed the choice check");
}

// Counts in a map's place: the server solves them at load, so only their shape can be wrong.
wire::MapReport check_counts(const wire::CountsFile& counts, const ModelSpec& model) {
  wire::MapReport report;
  report.rows = counts.rows;
  report.experts = counts.cells;
  const auto add = [&](const char* rule, std::string fact) {
    report.violations.push_back({true, rule, "", std::move(fact)});
  };
  if (counts.ids == wire::ExpertIds::physical)
    add("format", "counts of physical experts are a recorder's dump, nothing that a server starts from");
  if (model.experts != kAbsent && counts.cells != model.experts)
    add("sizes", fmt::format("counts of {} experts, and there are {}", counts.cells, model.experts));
  if (counts.axis == wire::LayerAxis::hidden && model.layers != kAbsent && counts.rows != model.layers)
    add("dense rows", fmt::format("{} rows for {} hidden layers", counts.rows, model.layers));
  if (counts.axis == wire::LayerAxis::hidden && !model.moe_layers.empty() && model.moe_layers.back() >= counts.rows)
    add("layers", fmt::format("{} rows, and MoE layer {}", counts.rows, model.moe_layers.back()));
  return report;
}

struct Result {
  wire::MapReport report;
  bool counts = false;
  std::string redundancy;
  std::optional<std::int64_t> redundant_bytes;
};

// Null where the size is unknown, or beyond what a record can say.
std::optional<std::int64_t> redundant_bytes(std::int64_t slots, std::int64_t expert_bytes) {
  std::int64_t bytes = 0;
  if (expert_bytes == kAbsent || __builtin_mul_overflow(slots, expert_bytes, &bytes) || bytes > wire::kMaxInteger)
    return std::nullopt;
  return bytes;
}

Result check(const CheckOptions& o) {
  const wire::MapTarget target = target_of(o.target);
  const ModelSpec model = cli::model_of(o.model);
  Result result;
  const auto table = cli::load_map_file(o.file, target, {o.model_class, true});
  if (const auto* counts = std::get_if<wire::CountsFile>(&table)) {
    result.counts = true;
    result.report = check_counts(*counts, model);
    result.redundant_bytes = redundant_bytes(0, model.expert_bytes);
    return result;
  }
  const auto* map = std::get_if<wire::MapFile>(&table);
  if (map == nullptr)
    throw Error(ErrorKind::data, o.file + ": the file is a recorder's dump of routed tokens, no map",
                "afore-trace import reads it");
  wire::MapContext context;
  if (o.workers > 0) context.ranks = o.workers;
  if (model.experts != kAbsent) context.experts = model.experts;
  if (model.layers != kAbsent) context.hidden_layers = model.layers;
  context.moe_layers = model.moe_layers;
  result.report = wire::check_map(*map, target, context);
  const wire::MapReport& r = result.report;
  result.redundancy = redundancy_text(r.slots, r.experts, r.ranks, r.moe_rows, model.expert_bytes);
  result.redundant_bytes = redundant_bytes(r.redundant_slots, model.expert_bytes);
  return result;
}

void print_text(const CheckOptions& o, const Result& result, ByteWriter& out) {
  const wire::MapReport& r = result.report;
  if (result.counts) {
    out.write_line(fmt::format("{}: counts of {} experts in {}; the server solves a map from them at load",
                               cli::printable(o.file), r.experts, counted(r.rows, "layer")));
  } else {
    out.write_line(fmt::format(
        "{}: {} of {}, {} experts{}", cli::printable(o.file), counted(r.rows, "layer"), counted(r.slots, "slot"),
        r.experts,
        r.ranks > 0 ? fmt::format(", {} ranks", r.ranks) : "; without --workers no rank is looked at by itself"));
    out.write_line(result.redundancy);
  }
  std::int64_t errors = 0;
  for (const wire::MapViolation& v : r.violations) {
    errors += v.fatal ? 1 : 0;
    out.write_line(fmt::format("{}: {}: {}{}{}", v.fatal ? "error" : "warning", v.rule, v.place,
                               v.place.empty() ? "" : ": ", cli::printable(v.fact)));
  }
  if (r.violations.empty()) out.write_line(fmt::format("ok for {}", o.target));
  else
    out.write_line(
        fmt::format("{}, {}: {}", counted(errors, "error"),
                    counted(static_cast<std::int64_t>(r.violations.size()) - errors, "warning"),
                    errors > 0 ? fmt::format("not for {}", o.target) : fmt::format("{} takes it", o.target)));
}

void print_json(const CheckOptions& o, const Result& result, ByteWriter& out) {
  const wire::MapReport& r = result.report;
  std::string line = "{";
  wire::JsonWriter json(line);
  json.string("file", o.file);
  json.string("for", o.target);
  json.boolean("ok", !r.fatal());
  json.integer("layers", r.rows);
  json.integer("slots", r.slots);
  json.integer("experts", r.experts);
  json.integer("ranks", r.ranks);
  json.integer("redundant_slots", r.redundant_slots);
  json.integer_or_null("redundant_bytes", result.redundant_bytes);
  json.key("violations");
  json.open('[');
  for (const wire::MapViolation& v : r.violations) {
    json.separate();
    json.open('{');
    json.string("severity", v.fatal ? "error" : "warning");
    json.string("rule", v.rule);
    json.string("place", v.place);
    json.string("fact", v.fact);
    json.close('}');
  }
  line += "]}";
  out.write_line(line);
}

void run_check(const CheckOptions& o) {
  const Result result = check(o);
  ByteWriter out("-");
  if (o.json) print_json(o, result, out);
  else print_text(o, result, out);
  out.finish();
  if (result.report.fatal()) throw Error(ErrorKind::answer_no, "");
}

}  // namespace

void add_check(cli::Command app) {
  cli::Command command = app.command(
      "check",
      "Whether an engine takes a map file: names every violation (missing replica, id out of range, duplicate on one\n"
      "rank, ragged slots, divisibility, unknown keys, rows of dense layers) and what its redundancy costs. Exit 0, "
      "or\n"
      "1 when the engine would refuse the file or break on it. The more flags say, the more is checked.");
  const auto o = std::make_shared<CheckOptions>();
  command.option("FILE", o->file, "Map file").required();
  command.choice("--for", o->target, "Engine it is for", {"sglang", "vllm", "trtllm", "ascend", "eplb"}).required();
  command.integer("--workers", o->workers, "Expert-parallel ranks", 1, 100'000).hide_default();
  command.option("--model-class", o->model_class, "vllm: which model of a file with maps of several");
  command.flag("--json", o->json, "One JSON object instead of lines for people");
  add_model_flags(command, o->model);
  command.examples({{"A map that SGLang takes",
                     "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 > demand.jsonl\n"
                     "afore-plan place -q --workers 8 --slots 1 demand.jsonl |\n"
                     "  afore-plan export -q --to sglang -o init.json\n"
                     "afore-plan check init.json --for sglang --model gpt-oss-20b --workers 8"},
                    {"The findings for a program", "afore-plan check init.json --for sglang --json > check.json"}});
  command.on_run([o] { run_check(*o); });
}

}  // namespace afore::plan
