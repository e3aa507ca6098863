#include "wire/foreign/sglang_pt.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "wire/json_tree.h"

namespace afore::wire {
namespace {

// A tensor, or what json.load gives for one: lists of lists of ints. At most `depth` levels.
void read_lists(TorchFile& file, const PickleView& list, std::size_t depth, std::size_t dimension, IntegerTensor& out) {
  const auto size = static_cast<std::int64_t>(list.size());
  if (out.shape.size() == dimension) out.shape.resize(dimension + 1, size);
  if (out.shape[dimension] != size) list.fail(fmt::format("ragged: {} items, before {}", size, out.shape[dimension]));
  file.spend(list, size);
  for (std::int64_t i = 0; i < size; ++i) {
    const PickleView item = list.item(static_cast<std::size_t>(i));
    const bool nested = item.type() == PickleType::list || item.type() == PickleType::tuple;
    if (nested != (dimension + 1 < depth)) item.fail(nested ? "lists nest too deep" : "expected a list");
    if (nested) read_lists(file, item, depth, dimension + 1, out);
    else out.values.push_back(item.integer());
  }
}

std::size_t list_depth(PickleView list) {
  std::size_t depth = 1;
  while (depth < 4 && list.size() > 0) {
    const PickleView head = list.item(0);
    if (head.type() != PickleType::list && head.type() != PickleType::tuple) break;
    list = head;
    ++depth;
  }
  return depth;
}

IntegerTensor read_table(TorchFile& file, const PickleView& view, std::size_t min_dimensions,
                         std::size_t max_dimensions) {
  IntegerTensor table;
  if (view.type() == PickleType::tensor) table = file.integers(view);
  else read_lists(file, view, std::clamp(list_depth(view), min_dimensions, max_dimensions), 0, table);
  const std::size_t dimensions = table.shape.size();
  if (dimensions < min_dimensions || dimensions > max_dimensions)
    view.fail(fmt::format("the shape {} has {} dimensions, not {}{}", table.shape, dimensions, min_dimensions,
                          max_dimensions > min_dimensions ? fmt::format(" or {}", max_dimensions) : ""));
  return table;
}

IntegerTensor read_filled(TorchFile& file, const PickleView& view, std::size_t min_dimensions,
                          std::size_t max_dimensions) {
  IntegerTensor table = read_table(file, view, min_dimensions, max_dimensions);
  if (table.values.empty()) view.fail(fmt::format("the shape {} is empty", table.shape));
  if (table.values.size() > static_cast<std::size_t>(kMaxTableCells))
    view.fail(fmt::format("the shape {} has more than {} cells", table.shape, kMaxTableCells));
  return table;
}

void check_counts(const PickleView& view, const IntegerTensor& table) {
  for (const std::int64_t count : table.values) {
    if (count < 0) view.fail(fmt::format("the count {} is negative", count));
    if (count > kMaxInteger) view.fail(fmt::format("the count {} is above 2^53", count));
  }
}

MapFile read_map(TorchFile& file, const PickleView& root) {
  const IntegerTensor table = read_filled(file, root.at("physical_to_logical_map"), 2, 2);
  MapFile map = map_of(table.shape, table.values, LayerAxis::hidden);
  for (const std::string_view key : root.keys())  // SGLang passes them on as arguments, and fails
    if (key != "physical_to_logical_map") note_violation(map, [&] { return "unknown key " + in_quotes(key); });
  return map;
}

CountsFile read_logical(TorchFile& file, const PickleView& root) {
  const PickleView view = root.at("logical_count");
  IntegerTensor table = read_filled(file, view, 2, 3);
  check_counts(view, table);
  return counts_of(table.shape, std::move(table.values), LayerAxis::hidden, ExpertIds::logical);
}

// What per_pass and per_token dumps have in common.
class DumpReader {
 public:
  DumpReader(TorchFile& file, const PickleView& root) : file_(file), root_(root), records_(root.at("records")) {}

  bool per_token() const { return records_.size() > 0 && records_.item(0).find("topk_ids_of_layer").has_value(); }
  CountsFile counts();
  RoutingFile routing();

 private:
  void read_map();
  std::int64_t read_pass(const PickleView& record);
  void add_tokens(const PickleView& record, RoutingFile& out);

  TorchFile& file_;
  PickleView root_, records_;
  IntegerTensor map_;
  std::optional<std::int64_t> rank_;
  std::int64_t last_pass_ = -1;
};

void DumpReader::read_map() {
  if (records_.size() == 0) records_.fail("no forward pass was recorded", "start the recorder before the requests");
  map_ = read_filled(file_, root_.at("last_physical_to_logical_map"), 2, 2);
}

// Its number, which must go up: a pass that stands twice would be counted twice.
std::int64_t DumpReader::read_pass(const PickleView& record) {
  const PickleView pass = record.at("forward_pass_id"), rank = record.at("rank"), key = record.at("gatherer_key");
  if (pass.integer() < 0 || pass.integer() > kMaxInteger)
    pass.fail(fmt::format("{} is no forward pass", pass.integer()));
  if (pass.integer() <= last_pass_) pass.fail(fmt::format("pass {} follows pass {}", pass.integer(), last_pass_));
  if (key.string() != "primary") key.fail("is " + in_quotes(key.string()) + ", only primary is read");
  if (rank_ && *rank_ != rank.integer()) rank.fail(fmt::format("is {}, before {}", rank.integer(), *rank_));
  rank_ = rank.integer();
  return last_pass_ = pass.integer();
}

CountsFile DumpReader::counts() {
  read_map();
  CountsFile out;
  out.axis = LayerAxis::hidden;
  out.ids = ExpertIds::physical;
  out.rows = map_.shape[0];
  out.cells = map_.shape[1];
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const PickleView record = records_.item(i);
    out.step_ids.push_back(read_pass(record));
    const PickleView view = record.at("global_physical_count");
    const IntegerTensor table = read_table(file_, view, 2, 2);
    if (table.shape != map_.shape)
      view.fail(fmt::format("the shape {} is not that of the map, {}", table.shape, map_.shape));
    check_counts(view, table);
    if (out.counts.size() + table.values.size() > static_cast<std::size_t>(kMaxTableCells))
      view.fail(fmt::format("the file has more than {} cells", kMaxTableCells));
    out.counts.insert(out.counts.end(), table.values.begin(), table.values.end());
  }
  out.steps = static_cast<std::int64_t>(out.step_ids.size());
  out.physical_to_logical = std::move(map_.values);
  out.rank = rank_;
  return out;
}

void DumpReader::add_tokens(const PickleView& record, RoutingFile& out) {
  const PickleView view = record.at("topk_ids_of_layer");
  const IntegerTensor table = read_table(file_, view, 3, 3);  // [rows, tokens, top k]; a pass may have no tokens
  if (out.spans.empty()) out.top_k = table.shape[2];
  if (table.shape[0] != out.rows || table.shape[2] != out.top_k || out.top_k < 1 || out.top_k > out.cells)
    view.fail(fmt::format("the shape {} is not ({} layers, tokens, {} of {} slots)", table.shape, out.rows, out.top_k,
                          out.cells));
  const std::int64_t tokens = table.values.empty() ? 0 : table.shape[1];
  if (out.ids.size() + table.values.size() > static_cast<std::size_t>(kMaxTableCells))
    view.fail(fmt::format("the file has more than {} cells", kMaxTableCells));
  out.spans.push_back({std::to_string(last_pass_), out.tokens, tokens, 0, false});
  out.ids.resize(out.ids.size() + table.values.size());
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(table.values.size()); ++i) {
    const std::int64_t id = table.values[static_cast<std::size_t>(i)];
    if (id < -1 || id >= out.cells) view.fail(fmt::format("id {} is out of range, there are {} slots", id, out.cells));
    const std::int64_t row = i / (tokens * out.top_k), token = i / out.top_k % tokens, choice = i % out.top_k;
    out.ids[static_cast<std::size_t>(((out.tokens + token) * out.rows + row) * out.top_k + choice)] =
        static_cast<std::int32_t>(id);
  }
  out.tokens += tokens;
}

RoutingFile DumpReader::routing() {
  read_map();
  RoutingFile out;
  out.axis = LayerAxis::hidden;
  out.ids_of = ExpertIds::physical;
  out.passes = true;
  out.rows = map_.shape[0];
  out.cells = map_.shape[1];
  for (std::size_t i = 0; i < records_.size(); ++i) {
    const PickleView record = records_.item(i);
    read_pass(record);
    add_tokens(record, out);
  }
  out.physical_to_logical = std::move(map_.values);
  out.rank = rank_;
  return out;
}

}  // namespace

SglangTorchFile read_sglang(TorchFile& file) {
  const PickleView root = file.root();
  // SGLang looks for the map first, too.
  if (root.find("physical_to_logical_map")) return read_map(file, root);
  if (root.find("records")) {
    DumpReader dump(file, root);
    if (dump.per_token()) return dump.routing();
    return dump.counts();
  }
  if (root.find("logical_count")) return read_logical(file, root);
  root.fail("has no key physical_to_logical_map, logical_count or records",
            "neither an expert location nor a dump of SGLang's recorder");
}

SglangTorchFile parse_sglang_torch(std::vector<std::uint8_t> bytes, const std::string& source) {
  TorchFile file(std::move(bytes), source);
  return read_sglang(file);
}

}  // namespace afore::wire
