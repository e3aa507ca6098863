#pragma once
// SGLang's --init-expert-location as JSON (python/sglang/srt/eplb/expert_location.py): {"physical_to_logical_map":
// [[...]]} is passed on as keyword arguments, so any other key beside it breaks the server; {"logical_count": [[...]]},
// 2-D or 3-D with steps first, may have others. Rows are all hidden layers, dense ones included.
#include <string>
#include <string_view>
#include <variant>

#include "wire/foreign/tables.h"

namespace afore::wire {

// The map wins where both keys are there, as in the server. Error{data} when neither is.
std::variant<MapFile, CountsFile> parse_sglang_json(std::string_view text, const std::string& source);

// [layers][slots]; one line, the one key.
std::string to_sglang_json(const std::vector<std::vector<int>>& rows);

}  // namespace afore::wire
