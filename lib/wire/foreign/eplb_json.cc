#include "wire/foreign/eplb_json.h"

#include <algorithm>

#include "wire/foreign/json_rows.h"
#include "wire/foreign/json_tensor.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

// Slots of each expert, as a file that has log2phy says them and as phy2log does.
std::vector<std::int64_t> slots_of(const std::vector<std::int64_t>& row, std::int64_t expert) {
  std::vector<std::int64_t> slots;
  for (std::size_t slot = 0; slot < row.size(); ++slot)
    if (row[slot] == expert) slots.push_back(static_cast<std::int64_t>(slot));
  return slots;
}

std::string at(const JsonValue& value, std::int64_t row, std::int64_t expert) {
  return value.path() + "/" + std::to_string(row) + "/" + std::to_string(expert);
}

void compare_counts(const JsonValue& value, MapFile& map) {
  const JsonTensor counts = read_tensor(value, 2, "count");
  if (counts.shape[0] != static_cast<std::int64_t>(map.rows.size()))
    value.fail("there are " + std::to_string(counts.shape[0]) + " layers, phy2log has " +
               std::to_string(map.rows.size()));
  map.experts = counts.shape[1];
  for (std::int64_t row = 0; row < counts.shape[0]; ++row)
    for (std::int64_t expert = 0; expert < counts.shape[1]; ++expert) {
      const auto& slots = map.rows[row].by_rank[0];
      const std::int64_t there = std::count(slots.begin(), slots.end(), expert);
      const std::int64_t said = counts.values[row * counts.shape[1] + expert];
      if (there != said)
        map.violations.push_back(at(value, row, expert) + ": " + std::to_string(said) + " replicas, phy2log has " +
                                 std::to_string(there));
    }
}

void compare_slots(const JsonValue& value, MapFile& map) {
  const JsonTensor table = read_tensor(value, 3, "slot", -1);
  if (table.shape[0] != static_cast<std::int64_t>(map.rows.size()))
    value.fail("there are " + std::to_string(table.shape[0]) + " layers, phy2log has " +
               std::to_string(map.rows.size()));
  map.experts = table.shape[1];
  const std::int64_t* next = table.values.data();
  for (std::int64_t row = 0; row < table.shape[0]; ++row)
    for (std::int64_t expert = 0; expert < table.shape[1]; ++expert, next += table.shape[2]) {
      std::vector<std::int64_t> said(next, next + table.shape[2]);
      said.erase(std::remove(said.begin(), said.end(), -1), said.end());
      std::sort(said.begin(), said.end());
      if (said != slots_of(map.rows[row].by_rank[0], expert))
        map.violations.push_back(at(value, row, expert) + ": not the slots that phy2log has this expert in");
    }
}

}  // namespace

std::variant<MapFile, CountsFile> parse_eplb_json(std::string_view text, const std::string& source) {
  JsonTree tree;
  ObjectReader file(tree.parse(text, source));
  if (const JsonValue rows = file.find("phy2log")) {
    MapFile map;
    read_map_rows(rows, map);
    if (const JsonValue counts = file.find("logcnt")) compare_counts(counts, map);
    if (const JsonValue slots = file.find("log2phy")) compare_slots(slots, map);
    note_unknown_keys(file.value(), {"phy2log", "log2phy", "logcnt"}, map);
    return map;
  }
  const JsonValue weight = file.find("weight");
  if (!weight) file.value().fail("neither phy2log nor weight is there", "these are the tensors of EPLB");
  JsonTensor tensor = read_tensor(weight, 2, "weight");
  return counts_of(tensor.shape, std::move(tensor.values), LayerAxis::unsaid, ExpertIds::logical);
}

std::string to_eplb_json(const std::vector<std::vector<int>>& phy2log, int experts) {
  std::vector<std::vector<int>> logcnt;
  std::size_t most = 0;
  for (const std::vector<int>& row : phy2log) {
    std::vector<int>& count = logcnt.emplace_back(experts, 0);
    for (const int expert : row) ++count[expert];
    most = std::max<std::size_t>(most, *std::max_element(count.begin(), count.end()));
  }
  std::string out = "{";
  JsonWriter json(out);
  json.key("phy2log");
  append_rows(out, phy2log, false);
  json.key("log2phy");
  json.open('[');
  for (const std::vector<int>& row : phy2log) {
    std::vector<std::vector<int>> slots(experts);
    for (std::size_t slot = 0; slot < row.size(); ++slot) slots[row[slot]].push_back(static_cast<int>(slot));
    for (std::vector<int>& list : slots) list.resize(most, -1);
    json.separate();
    append_rows(out, slots, false);
  }
  json.close(']');
  json.key("logcnt");
  append_rows(out, logcnt, false);
  out += "}\n";
  return out;
}

}  // namespace afore::wire
