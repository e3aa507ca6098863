#pragma once
// Where a stream came from, in words: for the head of a page and the line below a picture's title.
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/records.h"

namespace afore::report {

std::vector<std::pair<std::string, std::string>> provenance(const std::optional<Header>& header);

// "glm-4.5-air, policy afore, 8 FFN workers": what of it is known.
std::string caption(const std::optional<Header>& header);

}  // namespace afore::report
