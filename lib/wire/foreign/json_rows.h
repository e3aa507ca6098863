#pragma once
// What the readers and writers of JSON maps share.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "wire/foreign/tables.h"
#include "wire/json_tree.h"

namespace afore::wire {

// [[ids of a layer], ...] as rows of one unsplit slot list each; ragged ones are kept, for the checker to name. Ids are
// any integers within 2^53 either side.
void read_map_rows(JsonValue list, MapFile& map);

// Keys of `object` that are not among `known`, as violations.
void note_unknown_keys(JsonValue object, const std::vector<std::string_view>& known, MapFile& map);

// [[1,2],[3,4]], a row per line where `row_per_line`.
void append_rows(std::string& out, const std::vector<std::vector<int>>& rows, bool row_per_line);

}  // namespace afore::wire
