#include "wire/foreign/sglang_json.h"

#include "wire/foreign/json_rows.h"
#include "wire/foreign/json_tensor.h"

namespace afore::wire {

std::variant<MapFile, CountsFile> parse_sglang_json(std::string_view text, const std::string& source) {
  JsonTree tree;
  ObjectReader file(tree.parse(text, source));
  if (const JsonValue rows = file.find("physical_to_logical_map")) {
    MapFile map;
    map.axis = LayerAxis::hidden;
    read_map_rows(rows, map);
    note_unknown_keys(file.value(), {"physical_to_logical_map"}, map);
    return map;
  }
  const JsonValue table = file.find("logical_count");
  if (!table) {
    file.value().fail("neither physical_to_logical_map nor logical_count is there",
                      "--init-expert-location takes one of them");
  }
  JsonTensor tensor = read_tensor(table, 0, "count");
  if (tensor.shape.size() < 2 || tensor.shape.size() > 3)
    table.fail("the counts have " + std::to_string(tensor.shape.size()) + " dimensions, not [layers][experts] or " +
               "[steps][layers][experts]");
  return counts_of(tensor.shape, std::move(tensor.values), LayerAxis::hidden, ExpertIds::logical);
}

std::string to_sglang_json(const std::vector<std::vector<int>>& rows) {
  std::string out = "{\"physical_to_logical_map\":";
  append_rows(out, rows, false);
  out += "}\n";
  return out;
}

}  // namespace afore::wire
