#pragma once
// A header as a flat list of its known fields: what encoding, comparing, merging and extending have in common.
#include <string>
#include <vector>

#include "core/records.h"

namespace afore::wire {

struct HeaderField {
  std::string path;  // "/model/top_k"
  std::string json;  // "8"
};

// Present fields in written order; "kind", "v", "producer" and "via" are not among them, "seed" only when asked.
std::vector<HeaderField> header_fields(const Header& header, bool with_seed);

// A field that both have with different values: {from `a`, from `b`} with the same path.
struct HeaderConflict {
  HeaderField a, b;
};
std::vector<HeaderConflict> header_conflicts(const std::vector<HeaderField>& a, const std::vector<HeaderField>& b);

// {"kind":"header","v":1,"producer":...,"via":[...] from `header`, then `fields`, nested by their paths.
std::string header_json(const Header& header, const std::vector<HeaderField>& fields);

}  // namespace afore::wire
