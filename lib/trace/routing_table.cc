#include "trace/routing_table.h"

#include <fmt/core.h>

#include <algorithm>

#include "util/error.h"

namespace afore::trace {
namespace {

constexpr std::int64_t kMaxBytes = std::int64_t{64} << 30;

// What is wrong with one token's choice, or empty.
std::string fault(std::span<const std::uint16_t> chosen, int experts, std::vector<std::uint64_t>& seen) {
  std::fill(seen.begin(), seen.end(), 0);
  for (const std::uint16_t id : chosen) {
    if (id >= experts) return fmt::format("expert {} of {}", id, experts);
    const std::uint64_t bit = std::uint64_t{1} << (id & 63);
    if (seen[id >> 6] & bit) return fmt::format("expert {} chosen twice", id);
    seen[id >> 6] |= bit;
  }
  return "";
}

void check_shape(const RoutingShape& s, const std::string& source_name) {
  if (s.top_k < 1 || s.top_k > s.experts)
    throw Error(ErrorKind::data, fmt::format("{}: top_k {} of {} experts", source_name, s.top_k, s.experts));
  if (s.layers < 1 || s.tokens < 1)
    throw Error(ErrorKind::data, fmt::format("{}: {} tokens of {} layers", source_name, s.tokens, s.layers));
}

}  // namespace

std::int64_t routing_bytes(const RoutingShape& s, const std::string& source_name) {
  if (s.experts < 1 || s.experts > 256)
    throw Error(ErrorKind::data, fmt::format("{}: {} experts do not fit ids of one byte", source_name, s.experts),
                "routing-ids files hold uint8 ids: 1 to 256 experts");
  check_shape(s, source_name);
  const std::int64_t per_token = static_cast<std::int64_t>(s.layers) * s.top_k;
  if (s.tokens > kMaxBytes / per_token)
    throw Error(ErrorKind::data,
                fmt::format("{}: {} tokens of {} bytes each are more than 64 GiB", source_name, s.tokens, per_token));
  return s.tokens * per_token;
}

RoutingTable::RoutingTable(const std::vector<std::uint8_t>& ids, const RoutingShape& shape,
                           const std::string& source_name)
    : shape_(shape) {
  const std::int64_t expected = routing_bytes(shape, source_name);
  if (static_cast<std::int64_t>(ids.size()) != expected)
    throw Error(ErrorKind::data,
                fmt::format("{}: {} bytes, but {} tokens x {} layers x top {} need {}", source_name, ids.size(),
                            shape.tokens, shape.layers, shape.top_k, expected),
                "is this the --meta of this file?");
  ids_.assign(ids.begin(), ids.end());
  check(source_name, "the file must hold uint8 ids in C order [tokens, layers, top_k]");
}

RoutingTable::RoutingTable(std::vector<std::uint16_t> ids, const RoutingShape& shape, const std::string& source_name)
    : ids_(std::move(ids)), shape_(shape) {
  check_shape(shape, source_name);
  AFORE_CHECK(static_cast<std::int64_t>(ids_.size()) == shape.tokens * shape.layers * shape.top_k,
              "ids are of another shape");
  check(source_name, "is --experts the model's?");
}

void RoutingTable::check(const std::string& source_name, const char* hint) const {
  std::vector<std::uint64_t> seen(static_cast<std::size_t>(shape_.experts + 63) / 64);
  for (std::int64_t row = 0; row < shape_.tokens; ++row)
    for (int layer = 0; layer < shape_.layers; ++layer) {
      const std::string what = fault(experts_of(row, layer), shape_.experts, seen);
      if (!what.empty())
        throw Error(ErrorKind::data, fmt::format("{}: token {}, recorded layer {}: {}", source_name, row, layer, what),
                    hint);
    }
}

}  // namespace afore::trace
