#include "foreign_inputs.h"

#include <dirent.h>
#include <fmt/core.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "common/map_file.h"
#include "common/messages.h"
#include "common/parse.h"
#include "util/error.h"
#include "util/line_io.h"
#include "wire/foreign/convert.h"
#include "wire/foreign/counts_csv.h"
#include "wire/foreign/json_rows.h"
#include "wire/foreign/route_log.h"
#include "wire/foreign/routed_experts.h"
#include "wire/foreign/sglang_json.h"
#include "wire/foreign/sglang_pt.h"
#include "wire/foreign/trtllm.h"
#include "wire/foreign/vllm_json.h"
#include "wire/foreign/vllm_npy.h"
#include "wire/json_tree.h"

namespace afore::cli {
namespace {

using wire::CountsFile;
using wire::ExpertIds;
using wire::LayerAxis;
using wire::MapFile;
using wire::RoutingFile;

std::vector<std::uint8_t> bytes_of(const std::string& path) { return read_file_bytes(path, kMaxForeignBytes); }

std::string text_of(const std::string& path) {
  const std::vector<std::uint8_t> bytes = bytes_of(path);
  return {bytes.begin(), bytes.end()};
}

std::string_view view(const std::vector<std::uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

const std::string& only_input(const ImportOptions& o) {
  if (o.inputs.size() != 1) throw Error(ErrorKind::usage, fmt::format("--from {} takes one FILE", o.from));
  return o.inputs[0];
}

// Several recorder files are the ranks of one dump.
ForeignTable load_sglang(const ImportOptions& o) {
  std::vector<CountsFile> counts;
  std::vector<RoutingFile> routing;
  for (const std::string& path : o.inputs) {
    ForeignTable table = load_map_file(path, wire::MapTarget::sglang, {});
    if (o.inputs.size() == 1) return table;
    if (auto* part = std::get_if<CountsFile>(&table)) counts.push_back(std::move(*part));
    else if (auto* passes = std::get_if<RoutingFile>(&table)) routing.push_back(std::move(*passes));
    else throw Error(ErrorKind::usage, path + ": several FILEs are the ranks of one recorder dump, and this is a map");
  }
  if (!counts.empty() && !routing.empty())
    throw Error(ErrorKind::usage, "--from sglang: the FILEs are dumps of different modes");
  if (!counts.empty()) return wire::sum_ranks(std::move(counts), o.inputs);
  return wire::join_ranks(std::move(routing), o.inputs);
}

CountsFile load_csv(const ImportOptions& o, const ModelSpec& model) {
  std::vector<std::pair<std::string, std::vector<std::uint8_t>>> files;
  for (const std::string& path : o.inputs) files.emplace_back(path, read_file_bytes(path, std::size_t{256} << 20));
  return wire::parse_counts_csv(std::move(files), model.experts == kAbsent ? 0 : model.experts);
}

CountsFile load_vllm(const ImportOptions& o) {
  const std::string& path = only_input(o);
  const std::vector<std::uint8_t> bytes = bytes_of(path);
  if (!is_npy(bytes)) return wire::parse_vllm_window(view(bytes), path);
  return wire::counts_from_npy(bytes, path, LayerAxis::moe, ExpertIds::physical);
}

std::optional<wire::IterationRange> iteration_range(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::vector<int> list = parse_int_list(text, "--iterations");
  if (list.back() - list.front() + 1 != static_cast<int>(list.size()))
    throw Error(ErrorKind::usage, "--iterations takes one range", "like 100-200");
  return wire::IterationRange{list.front(), std::int64_t{list.back()} + 1};
}

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

// rank*.safetensors of a folder, less the _raw ones, by name.
std::vector<std::string> rank_files(const std::string& folder) {
  const std::unique_ptr<DIR, int (*)(DIR*)> dir(opendir(folder.c_str()), closedir);
  if (dir == nullptr) throw Error(ErrorKind::io, folder + ": the folder cannot be read");
  std::vector<std::string> names;
  while (const dirent* entry = readdir(dir.get())) {
    const std::string_view name = entry->d_name;
    if (name.substr(0, 4) == "rank" && ends_with(name, ".safetensors") && !ends_with(name, "_raw.safetensors"))
      names.push_back(folder + "/" + entry->d_name);
  }
  std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
    return a.size() != b.size() ? a.size() < b.size() : a < b;
  });
  if (names.empty())
    throw Error(ErrorKind::data, folder + ": there is no rank0.safetensors",
                "EXPERT_STATISTIC_PATH names the folder that TensorRT-LLM writes");
  for (std::size_t rank = 0; rank < names.size(); ++rank)
    if (names[rank] != fmt::format("{}/rank{}.safetensors", folder, rank))
      throw Error(ErrorKind::data, fmt::format("{}: rank{}.safetensors is missing", folder, rank),
                  "each rank counts its own tokens: all of their files are needed");
  return names;
}

ForeignTable load_trtllm(const ImportOptions& o) {
  const std::string& path = only_input(o);
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return load_map_file(path, wire::MapTarget::trtllm, {});
  std::vector<wire::NamedBytes> files;
  for (const std::string& name : rank_files(path)) files.push_back({name, bytes_of(name)});
  const std::string meta = path + "/meta_info.json";
  return wire::read_trtllm_statistics(text_of(meta), meta, files, iteration_range(o.iterations));
}

ForeignTable load_map(const ImportOptions& o, wire::MapTarget target) {
  // An array alone has no name: with --workers it is a map, without it weights.
  return load_map_file(only_input(o), target, {o.model_class, o.workers > 0});
}

RoutingFile load_routed_experts(const ImportOptions& o, const ModelSpec& model) {
  const auto given = [](std::int64_t value) { return value == kAbsent ? 0 : value; };
  wire::RoutedExperts routed(o.inputs[0], {given(model.layers), given(model.top_k)});
  for (const std::string& path : o.inputs) {
    if (ends_with(path, ".npy")) {
      routed.add_npy(bytes_of(path), path);
      continue;
    }
    LineReader lines(path);
    std::string_view line;
    while (lines.next(line)) routed.read_line(line, lines.line_number());
  }
  return routed.finish();
}

RoutingFile load_route_log(const ImportOptions& o) {
  LineReader lines(only_input(o));
  wire::RouteLog log(lines.name());
  std::string_view line;
  while (lines.next(line)) log.read_line(line, lines.line_number());
  return log.finish();
}

// --map: an .npy, a JSON array of rows, SGLang's or vLLM's JSON. Its rows are the counts'.
std::vector<std::int64_t> map_in_force(const ImportOptions& o) {
  const std::vector<std::uint8_t> bytes = bytes_of(o.map);
  MapFile map;
  if (is_npy(bytes)) {
    map = wire::map_from_npy(bytes, o.map, LayerAxis::moe);
  } else {
    wire::JsonTree tree;
    const wire::JsonValue root = tree.parse(view(bytes), o.map);
    if (root.type() == wire::JsonType::array) {
      wire::read_map_rows(root, map);
    } else if (wire::ObjectReader(root).find("format")) {
      map = wire::parse_vllm_map(view(bytes), o.map, o.model_class);
    } else {
      wire::read_map_rows(wire::ObjectReader(root).required("physical_to_logical_map"), map);
    }
  }
  std::vector<std::int64_t> flat;
  for (const MapFile::Row& row : map.rows) {
    const std::vector<std::int64_t>& slots = row.by_rank[0];
    if (slots.size() != map.rows[0].by_rank[0].size())
      throw Error(ErrorKind::data, fmt::format("{}: layer {} has {} slots, the first one {}", o.map, row.layer,
                                               slots.size(), map.rows[0].by_rank[0].size()));
    flat.insert(flat.end(), slots.begin(), slots.end());
  }
  return flat;
}

CountsFile logical(const ImportOptions& o, CountsFile counts, const ModelSpec& model) {
  if (counts.ids != ExpertIds::physical) {
    if (!o.map.empty()) throw Error(ErrorKind::usage, "--map does not apply: the counts are of logical experts");
    return counts;
  }
  const std::int64_t experts = model.experts == kAbsent ? 0 : model.experts;
  if (!o.map.empty()) return wire::to_logical(std::move(counts), map_in_force(o), experts, o.map);
  if (counts.physical_to_logical.empty())
    throw Error(ErrorKind::usage, o.inputs[0] + ": the counts are of physical experts, and the file has no map",
                "give --map FILE, the physical_to_logical_map in force when they were counted");
  const std::vector<std::int64_t> map = counts.physical_to_logical;
  return wire::to_logical(std::move(counts), map, experts, o.inputs[0]);
}

LayerAxis axis_of(const ImportOptions& o, LayerAxis said) {
  if (o.layer_axis.empty()) return said;
  if (said != LayerAxis::unsaid)
    throw Error(ErrorKind::usage, "--layer-axis does not apply to --from " + o.from,
                "the format says which layers its rows are");
  return o.layer_axis == "hidden" ? LayerAxis::hidden : LayerAxis::moe;
}

ForeignTable load_by_format(const ImportOptions& o, const ModelSpec& model) {
  if (o.from == "sglang") return load_sglang(o);
  if (o.from == "sglang-count") {
    const std::string& path = only_input(o);
    auto table = wire::parse_sglang_json(text_of(path), path);
    if (std::holds_alternative<MapFile>(table))
      throw Error(ErrorKind::data, path + ": the file has a map, not counts", "--from sglang");
    return std::get<CountsFile>(std::move(table));
  }
  if (o.from == "sglang-csv") return load_csv(o, model);
  if (o.from == "vllm") return load_vllm(o);
  if (o.from == "vllm-map") return load_map(o, wire::MapTarget::vllm);
  if (o.from == "trtllm") return load_trtllm(o);
  if (o.from == "ascend") return load_map(o, wire::MapTarget::ascend);
  if (o.from == "eplb") return load_map(o, wire::MapTarget::eplb);
  if (o.from == "routed-experts") return load_routed_experts(o, model);
  AFORE_CHECK(o.from == "route-log", "an unknown format passed the choice check");
  return load_route_log(o);
}

void warn_of_one_rank(const ImportOptions& o, const std::optional<std::int64_t>& rank) {
  if (rank && o.inputs.size() == 1)
    warn(fmt::format("{}: the tokens of rank {} alone; name the files of all ranks to have all tokens", o.inputs[0],
                     *rank));
}

// Flags that the file has no use for.
void refuse_unused(const ImportOptions& o, const ForeignTable& table) {
  if (std::holds_alternative<MapFile>(table)) {
    refuse_for_file(!o.map.empty(), "--map", o, "a map");
    refuse_for_file(!o.iterations.empty(), "--iterations", o, "a map");
  } else if (std::holds_alternative<RoutingFile>(table)) {
    refuse_for_file(!o.map.empty(), "--map", o, "routed tokens");
    refuse_for_file(o.workers != 0, "--workers", o, "routed tokens");
  }
  if (o.from != "vllm-map" && o.map.empty())
    refuse_for_file(!o.model_class.empty(), "--model-class", o, "no maps by model");
}

}  // namespace

void refuse_for_file(bool given, const char* flag, const ImportOptions& o, const char* what) {
  if (given)
    throw Error(ErrorKind::usage, fmt::format("{} does not apply: {} has {}", flag, o.inputs[0], what),
                "see afore-trace import --help");
}

const std::vector<std::string>& foreign_formats() {
  static const std::vector<std::string> formats = {"sglang",         "sglang-count", "sglang-csv", "vllm",
                                                   "vllm-map",       "trtllm",       "ascend",     "eplb",
                                                   "routed-experts", "route-log"};
  return formats;
}

ForeignTable load_foreign(const ImportOptions& o, const ModelSpec& model) {
  ForeignTable table = load_by_format(o, model);
  refuse_unused(o, table);
  std::visit([&](auto& file) { file.axis = axis_of(o, file.axis); }, table);
  if (const auto* routing = std::get_if<RoutingFile>(&table)) {
    warn_of_one_rank(o, routing->rank);
    if (model.top_k != kAbsent && model.top_k != routing->top_k && !routing->passes)
      throw Error(ErrorKind::usage,
                  fmt::format("{}: tokens have {} experts, not {}", o.inputs[0], routing->top_k, model.top_k),
                  "is --model the right one?");
    if (routing->passes && model.experts == kAbsent && routing->ids_of == ExpertIds::logical)
      throw Error(ErrorKind::usage, o.inputs[0] + ": the file does not say how many experts there are",
                  "give --model PRESET or --experts N");
  } else if (auto* counts = std::get_if<CountsFile>(&table)) {
    warn_of_one_rank(o, counts->rank);
    return logical(o, std::move(*counts), model);
  }
  return table;
}

}  // namespace afore::cli
