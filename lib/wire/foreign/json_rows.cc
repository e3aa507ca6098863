#include "wire/foreign/json_rows.h"

#include <algorithm>

#include "wire/json_writer.h"

namespace afore::wire {

void read_map_rows(JsonValue list, MapFile& map) {
  list.expect(JsonType::array);
  if (list.size() == 0) list.fail("there are no layers");
  std::int64_t layer = 0;
  for (const JsonValue item : list) {
    item.expect(JsonType::array);
    MapFile::Row row;
    row.layer = layer++;
    std::vector<std::int64_t>& slots = row.by_rank.emplace_back();
    slots.reserve(item.size());
    for (const JsonValue id : item) slots.push_back(id.integral(-kMaxInteger, kMaxInteger, "expert"));
    map.rows.push_back(std::move(row));
  }
}

void note_unknown_keys(JsonValue object, const std::vector<std::string_view>& known, MapFile& map) {
  for (const JsonValue member : object)
    if (std::find(known.begin(), known.end(), member.key()) == known.end())
      note_violation(map, [&] { return member.path() + ": unknown key"; });
}

void append_rows(std::string& out, const std::vector<std::vector<int>>& rows, bool row_per_line) {
  JsonWriter json(out);
  out += '[';
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (i > 0) out += ',';
    if (row_per_line) out += '\n';
    json.items(rows[i]);
  }
  out += row_per_line ? "\n]" : "]";
}

}  // namespace afore::wire
