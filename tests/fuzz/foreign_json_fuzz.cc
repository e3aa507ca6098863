// Other systems' JSON, CSV and routing logs: whatever is accepted has the shape it says, a map's violations can be
// listed, and a map without a fatal one survives being written and read again.
#include <string>
#include <variant>

#include "fuzz.h"
#include "wire/foreign/ascend_json.h"
#include "wire/foreign/check_map.h"
#include "wire/foreign/convert.h"
#include "wire/foreign/counts_csv.h"
#include "wire/foreign/eplb_json.h"
#include "wire/foreign/route_log.h"
#include "wire/foreign/routed_experts.h"
#include "wire/foreign/sglang_json.h"
#include "wire/foreign/vllm_json.h"

namespace afore {
namespace {

using wire::CountsFile;
using wire::MapFile;
using wire::MapTarget;

std::vector<std::vector<int>> rows_of(const MapFile& map) {
  std::vector<std::vector<int>> rows;
  for (const MapFile::Row& row : map.rows) {
    std::vector<int>& flat = rows.emplace_back();
    for (const auto& rank : row.by_rank)
      for (const std::int64_t id : rank) flat.push_back(static_cast<int>(id));
  }
  return rows;
}

MapFile read(MapTarget target, const std::string& text) {
  if (target == MapTarget::sglang) return std::get<MapFile>(wire::parse_sglang_json(text, "f"));
  if (target == MapTarget::vllm) return wire::parse_vllm_map(text, "f", "");
  if (target == MapTarget::ascend) return wire::parse_ascend_map(text, "f");
  return std::get<MapFile>(wire::parse_eplb_json(text, "f"));
}

std::string write(MapTarget target, const MapFile& map, const wire::MapReport& report) {
  const auto rows = rows_of(map);
  if (target == MapTarget::sglang) return wire::to_sglang_json(rows);
  if (target == MapTarget::vllm) return wire::to_vllm_json({"m", "C", report.experts, rows}, rows.size() % 2 ? 1 : 2);
  if (target == MapTarget::ascend) return wire::to_ascend_json(rows, static_cast<int>(*map.ranks));
  return wire::to_eplb_json(rows, static_cast<int>(report.experts));
}

void check_map(const MapFile& map, MapTarget target) {
  wire::MapContext context;
  if (map.rows.size() % 3 == 1) context.ranks = 2;
  const wire::MapReport report = wire::check_map(map, target, context);
  FUZZ_CHECK(report.experts <= report.slots);
  if (report.fatal() || report.slots == 0) return;
  const std::string text = write(target, map, report);
  const MapFile again = read(target, text);
  FUZZ_CHECK(rows_of(again) == rows_of(map));
  FUZZ_CHECK(again.violations.empty());
}

void check_counts(const CountsFile& counts) {
  FUZZ_CHECK(static_cast<std::int64_t>(counts.counts.size()) == counts.steps * counts.rows * counts.cells);
  for (const std::int64_t count : counts.counts) FUZZ_CHECK(count >= 0);
  if (counts.physical_to_logical.empty()) return;
  fuzz::refuses([&] {
    const CountsFile logical = wire::to_logical(counts, counts.physical_to_logical, 0, "f");
    FUZZ_CHECK(static_cast<std::int64_t>(logical.counts.size()) == logical.steps * logical.rows * logical.cells);
  });
}

template <class Table>
void check(const Table& table, MapTarget target) {
  if (const auto* map = std::get_if<MapFile>(&table)) check_map(*map, target);
  else check_counts(std::get<CountsFile>(table));
}

void check_routing(const wire::RoutingFile& file) {
  FUZZ_CHECK(static_cast<std::int64_t>(file.ids.size()) == file.tokens * file.rows * file.top_k);
  std::int64_t tokens = 0;
  for (const wire::RoutingFile::Span& span : file.spans) {
    FUZZ_CHECK(span.offset == tokens && span.tokens > 0 && span.prompt_tokens <= span.tokens);
    tokens += span.tokens;
  }
  FUZZ_CHECK(tokens == file.tokens);
  if (file.passes) fuzz::refuses([&] { check_counts(wire::count_passes(file, 0, "f")); });
}

template <class Reader>
void read_lines(Reader& reader, std::string_view text) {
  std::int64_t number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    reader.read_line(text.substr(0, end), ++number);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  check_routing(reader.finish());
}

}  // namespace
}  // namespace afore

// The first byte picks the format.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  fuzz::refuses([&] {
    switch (data[0] % 8) {
      case 0: check(wire::parse_sglang_json(text, "f"), MapTarget::sglang); break;
      case 1: check_map(wire::parse_vllm_map(text, "f", ""), MapTarget::vllm); break;
      case 2: check_counts(wire::parse_vllm_window(text, "f")); break;
      case 3: check_map(wire::parse_ascend_map(text, "f"), MapTarget::ascend); break;
      case 4: check(wire::parse_eplb_json(text, "f"), MapTarget::eplb); break;
      case 5: check_counts(wire::parse_counts_csv({{"f", {data + 1, data + size}}}, size % 2 ? 0 : 8)); break;
      case 6: {
        wire::RouteLog log("f");
        read_lines(log, text);
        break;
      }
      default: {
        wire::RoutedExperts routed("f", {2, 2});
        read_lines(routed, text);
      }
    }
  });
  return 0;
}
