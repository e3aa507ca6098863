#pragma once
// What must hold of whatever was read from SGLang, for the targets that read it.
#include <variant>

#include "fuzz.h"
#include "wire/foreign/sglang_pt.h"

namespace afore::fuzz {

inline void check(const wire::MapFile& map) {
  FUZZ_CHECK(!map.rows.empty() && map.physical);
  for (const wire::MapFile::Row& row : map.rows)
    FUZZ_CHECK(row.by_rank.size() == 1 && static_cast<std::int64_t>(row.by_rank[0].size()) == *map.physical);
  for (const std::string& line : map.violations) FUZZ_CHECK(line.find('\n') == std::string::npos);
}

inline void check(const wire::CountsFile& file) {
  FUZZ_CHECK(file.steps > 0 && file.rows > 0 && file.cells > 0);
  FUZZ_CHECK(static_cast<std::int64_t>(file.counts.size()) == file.steps * file.rows * file.cells);
  for (const std::int64_t count : file.counts) FUZZ_CHECK(count >= 0 && count <= std::int64_t{1} << 53);
  FUZZ_CHECK(file.step_ids.empty() || static_cast<std::int64_t>(file.step_ids.size()) == file.steps);
  FUZZ_CHECK(file.physical_to_logical.empty() ||
             static_cast<std::int64_t>(file.physical_to_logical.size()) == file.rows * file.cells);
}

inline void check(const wire::RoutingFile& file) {
  FUZZ_CHECK(file.rows > 0 && file.top_k > 0 && file.top_k <= file.cells);
  FUZZ_CHECK(static_cast<std::int64_t>(file.ids.size()) == file.tokens * file.rows * file.top_k);
  for (const std::int32_t id : file.ids) FUZZ_CHECK(id >= -1 && id < file.cells);
  std::int64_t tokens = 0;
  for (const wire::RoutingFile::Span& span : file.spans) {
    FUZZ_CHECK(span.offset == tokens && span.tokens >= 0);
    tokens += span.tokens;
  }
  FUZZ_CHECK(tokens == file.tokens);
}

inline void check(const wire::SglangTorchFile& file) {
  std::visit([](const auto& kind) { check(kind); }, file);
}

}  // namespace afore::fuzz
