#include "wire/foreign/eplb_json.h"

#include <algorithm>

#include "util/error.h"
#include "wire/foreign/json_rows.h"
#include "wire/foreign/json_tensor.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

// How many slots of a row of phy2log each of `experts` has; ids beyond them are the checker's matter.
std::vector<std::int64_t> replicas_of(const std::vector<std::int64_t>& row, std::int64_t experts) {
  std::vector<std::int64_t> replicas(static_cast<std::size_t>(experts), 0);
  for (const std::int64_t id : row)
    if (id >= 0 && id < experts) ++replicas[static_cast<std::size_t>(id)];
  return replicas;
}

// The slots themselves: those of expert e are slots[first[e]] to slots[first[e + 1] - 1], ascending.
struct SlotLists {
  SlotLists(const std::vector<std::int64_t>& row, std::int64_t experts) : first{0} {
    for (const std::int64_t count : replicas_of(row, experts)) first.push_back(first.back() + count);
    slots.resize(static_cast<std::size_t>(first.back()));
    std::vector<std::int64_t> next = first;
    for (std::size_t slot = 0; slot < row.size(); ++slot)
      if (row[slot] >= 0 && row[slot] < experts)
        slots[static_cast<std::size_t>(next[static_cast<std::size_t>(row[slot])]++)] = static_cast<std::int64_t>(slot);
  }
  bool has(std::int64_t expert, const std::vector<std::int64_t>& said) const {
    return std::equal(slots.begin() + first[static_cast<std::size_t>(expert)],
                      slots.begin() + first[static_cast<std::size_t>(expert) + 1], said.begin(), said.end());
  }
  std::vector<std::int64_t> first, slots;
};

std::string at(const JsonValue& value, std::int64_t row, std::int64_t expert) {
  return value.path() + "/" + std::to_string(row) + "/" + std::to_string(expert);
}

void compare_counts(const JsonValue& value, MapFile& map) {
  const JsonTensor counts = read_tensor(value, 2, "count");
  if (counts.shape[0] != static_cast<std::int64_t>(map.rows.size()))
    value.fail("there are " + std::to_string(counts.shape[0]) + " layers, phy2log has " +
               std::to_string(map.rows.size()));
  map.experts = counts.shape[1];
  for (std::int64_t row = 0; row < counts.shape[0]; ++row) {
    const std::vector<std::int64_t> replicas = replicas_of(map.rows[row].by_rank[0], counts.shape[1]);
    for (std::int64_t expert = 0; expert < counts.shape[1]; ++expert) {
      const std::int64_t there = replicas[expert], said = counts.values[row * counts.shape[1] + expert];
      if (there != said)
        note_violation(map, [&] {
          return at(value, row, expert) + ": " + std::to_string(said) + " replicas, phy2log has " +
                 std::to_string(there);
        });
    }
  }
}

void compare_slots(const JsonValue& value, MapFile& map) {
  const JsonTensor table = read_tensor(value, 3, "slot", -1);
  if (table.shape[0] != static_cast<std::int64_t>(map.rows.size()))
    value.fail("there are " + std::to_string(table.shape[0]) + " layers, phy2log has " +
               std::to_string(map.rows.size()));
  map.experts = table.shape[1];
  const std::int64_t* next = table.values.data();
  for (std::int64_t row = 0; row < table.shape[0]; ++row) {
    const SlotLists lists(map.rows[row].by_rank[0], table.shape[1]);
    for (std::int64_t expert = 0; expert < table.shape[1]; ++expert, next += table.shape[2]) {
      std::vector<std::int64_t> said(next, next + table.shape[2]);
      said.erase(std::remove(said.begin(), said.end(), -1), said.end());
      std::sort(said.begin(), said.end());
      if (!lists.has(expert, said))
        note_violation(map, [&] { return at(value, row, expert) + ": not the slots that phy2log has this expert in"; });
    }
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
  const std::int64_t rows = static_cast<std::int64_t>(phy2log.size()), width = static_cast<std::int64_t>(most);
  if (width > 0 && experts > kMaxTableCells / width / std::max<std::int64_t>(rows, 1))
    throw Error(ErrorKind::data,
                "log2phy would have " + std::to_string(rows) + " layers x " + std::to_string(experts) + " experts x " +
                    std::to_string(width) + " replicas, more than " + std::to_string(kMaxTableCells) + " cells",
                "one expert with many replicas makes the lists of all as long");
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
