#include "wire/foreign/convert.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "util/error.h"
#include "wire/foreign/check_map.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

// The writer's numbers where all passes have one, else their positions.
std::vector<std::int64_t> pass_numbers(const RoutingFile& routing) {
  std::vector<std::int64_t> numbers;
  numbers.reserve(routing.spans.size());
  for (const RoutingFile::Span& span : routing.spans) {
    std::int64_t number = 0;
    const char* const last = span.id.data() + span.id.size();
    const auto [end, error] = std::from_chars(span.id.data(), last, number);
    if (error != std::errc() || end != last || number < 0 || number > kMaxInteger) break;
    numbers.push_back(number);
  }
  if (numbers.size() < routing.spans.size()) {
    numbers.resize(routing.spans.size());
    std::iota(numbers.begin(), numbers.end(), std::int64_t{0});
  }
  return numbers;
}

}  // namespace

std::vector<PlacementRecord> to_placements(const MapFile& map, const LayerRows& layers, std::int64_t ranks,
                                           std::int64_t experts, const std::string& source) {
  if (ranks <= 0)
    throw Error(ErrorKind::usage, source + ": the file does not say how many workers its slots are on",
                "give --workers N, the size of the expert-parallel group");
  MapContext context;
  context.ranks = ranks;
  if (experts > 0) context.experts = experts;
  for (const MapViolation& v : check_map(map, MapTarget::sglang, context).violations)
    if (v.fatal)
      throw Error(ErrorKind::data,
                  fmt::format("{}: {}{}{}: {}", source, v.rule, v.place.empty() ? "" : ", ", v.place, v.fact),
                  "afore-plan check FILE --for FORMAT names all that is wrong");
  std::vector<PlacementRecord> records;
  for (std::size_t i = 0; i < layers.rows.size(); ++i) {
    PlacementRecord& record = records.emplace_back();
    record.layer = layers.moe_layers[i];
    for (const auto& rank : map.rows[layers.rows[i]].by_rank)
      for (const std::int64_t id : rank) record.physical_to_logical.push_back(static_cast<int>(id));
    record.slots_per_worker = static_cast<std::int64_t>(record.physical_to_logical.size()) / ranks;
  }
  return records;
}

CountsFile to_logical(CountsFile counts, const std::vector<std::int64_t>& map, std::int64_t experts,
                      const std::string& source) {
  if (static_cast<std::int64_t>(map.size()) != counts.rows * counts.cells)
    throw Error(ErrorKind::data, fmt::format("{}: the map has {} slots, the counts are of {} layers x {} slots", source,
                                             map.size(), counts.rows, counts.cells));
  const std::int64_t largest = *std::max_element(map.begin(), map.end());
  const std::int64_t least = *std::min_element(map.begin(), map.end());
  if (experts == 0) experts = largest + 1;
  if (least < 0 || largest >= experts || experts > counts.cells)
    throw Error(ErrorKind::data, fmt::format("{}: the map names expert {}, there are {} experts and {} slots", source,
                                             least < 0 ? least : largest, experts, counts.cells));
  const std::vector<std::int64_t> physical = std::move(counts.counts);
  const std::int64_t slots = counts.cells;
  counts.ids = ExpertIds::logical;
  counts.cells = experts;
  counts.experts = experts;
  counts.physical_to_logical.clear();
  counts.counts.assign(static_cast<std::size_t>(counts.steps * counts.rows * experts), 0);
  for (std::int64_t step = 0; step < counts.steps; ++step)
    for (std::int64_t row = 0; row < counts.rows; ++row)
      for (std::int64_t slot = 0; slot < slots; ++slot) {
        std::int64_t& sum = counts.counts[(step * counts.rows + row) * experts + map[row * slots + slot]];
        sum += physical[(step * counts.rows + row) * slots + slot];  // both at most 2^53
        if (sum > kMaxInteger) throw Error(ErrorKind::data, source + ": the counts of an expert sum to more than 2^53");
      }
  return counts;
}

CountsFile count_passes(const RoutingFile& routing, std::int64_t experts, const std::string& source) {
  CountsFile counts;
  counts.axis = routing.axis;
  counts.layers = routing.layers;
  counts.ids = routing.ids_of;
  counts.rows = routing.rows;
  counts.steps = static_cast<std::int64_t>(routing.spans.size());
  counts.top_k = routing.top_k;
  if (experts == 0 && !routing.ids.empty())
    experts = std::int64_t{*std::max_element(routing.ids.begin(), routing.ids.end())} + 1;
  counts.cells = std::max<std::int64_t>(experts, 1);
  if (counts.steps * counts.rows * counts.cells > kMaxTableCells)
    throw Error(ErrorKind::data, source + ": too many passes, layers and experts to count");
  counts.counts.assign(static_cast<std::size_t>(counts.steps * counts.rows * counts.cells), 0);
  counts.step_ids = pass_numbers(routing);
  const std::int64_t row_ids = routing.top_k;
  for (std::int64_t step = 0; step < counts.steps; ++step) {
    const RoutingFile::Span& span = routing.spans[step];
    for (std::int64_t token = span.offset; token < span.offset + span.tokens; ++token)
      for (std::int64_t row = 0; row < counts.rows; ++row)
        for (std::int64_t k = 0; k < row_ids; ++k) {
          const std::int32_t id = routing.ids[(token * counts.rows + row) * row_ids + k];
          if (id < 0) continue;
          if (id >= counts.cells)
            throw Error(ErrorKind::data,
                        fmt::format("{}: token {} chose expert {} of {}", source, token, id, counts.cells));
          ++counts.counts[(step * counts.rows + row) * counts.cells + id];
        }
  }
  return counts;
}

}  // namespace afore::wire
