#include "bench/gpu/routed.h"

#include <algorithm>
#include <numeric>

namespace afore::bench::gpu {
namespace {

using namespace kernels;

HostPart make_part(const Sizes& sizes, std::int32_t tokens, Numbers& numbers) {
  const std::size_t pairs = area(tokens, sizes.top_k), experts = static_cast<std::size_t>(sizes.experts);
  HostPart part{.x = numbers.bf16s(area(tokens, sizes.hidden)),
                .ids = {},
                .counts = std::vector<std::int32_t>(experts),
                .begin = std::vector<std::int32_t>(experts + 1),
                .sorted = std::vector<std::int32_t>(pairs),
                .row_of_pair = std::vector<std::int32_t>(pairs),
                .weights = numbers.floats(pairs),
                .out_of_pairs = std::vector<float>(pairs * static_cast<std::size_t>(sizes.hidden), -5),
                .out_of_tokens = std::vector<float>(area(tokens, sizes.hidden), -5)};
  std::vector<std::int32_t> shuffled(experts);
  std::iota(shuffled.begin(), shuffled.end(), 0);
  for (std::int32_t t = 0; t < tokens; ++t)
    for (std::int32_t k = 0; k < sizes.top_k; ++k) {
      std::swap(shuffled[static_cast<std::size_t>(k)],
                shuffled[static_cast<std::size_t>(k + numbers.below(sizes.experts - k))]);
      part.ids.push_back(shuffled[static_cast<std::size_t>(k)]);
    }
  const auto count = static_cast<std::int32_t>(pairs);
  twin::demand_histogram(part.ids.data(), count, sizes.experts, part.counts.data());
  twin::sort_pairs(part.ids.data(), count, sizes.experts, part.counts.data(), part.begin.data(), part.sorted.data());
  return part;
}

}  // namespace

Routed::Routed(const Sizes& of, const std::vector<std::int32_t>& by_part, std::uint64_t seed)
    : sizes(of), tokens(by_part) {
  Numbers numbers(seed);
  for (const std::int32_t count : tokens) {
    host.push_back(make_part(sizes, count, numbers));
    device.push_back(std::make_unique<DevicePart>(host.back()));
  }
  for (std::int32_t e = 0; e < sizes.experts; ++e) {
    std::int32_t demand = 0;
    for (const HostPart& part : host) demand += part.counts[static_cast<std::size_t>(e)];
    const std::int32_t first = e % 2 == 0 ? 0 : demand / 3, end = e % 2 == 0 ? demand : demand * 2 / 3;
    shares.push_back({e, first, end - first, static_cast<std::int32_t>(shares.size())});
  }
}

std::vector<Part> Routed::host_parts(bool exact) {
  std::vector<Part> parts;
  for (std::size_t p = 0; p < host.size(); ++p) {
    HostPart& part = host[p];
    parts.push_back({part.x.data(), part.counts.data(), part.begin.data(), part.sorted.data(), part.weights.data(),
                     part.row_of_pair.data(), exact ? part.out_of_pairs.data() : part.out_of_tokens.data(), tokens[p]});
  }
  return parts;
}

std::vector<Part> Routed::device_parts(bool exact) const {
  std::vector<Part> parts;
  for (std::size_t p = 0; p < device.size(); ++p) {
    const DevicePart& part = *device[p];
    parts.push_back({part.x.data(), part.counts.data(), part.begin.data(), part.sorted.data(), part.weights.data(),
                     part.row_of_pair.data(), exact ? part.out_of_pairs.data() : part.out_of_tokens.data(), tokens[p]});
  }
  return parts;
}

WorkBounds Routed::bounds(std::int32_t tile_tokens) const {
  WorkBounds bounds{.parts = static_cast<std::int32_t>(tokens.size()),
                    .shares = static_cast<std::int32_t>(shares.size()),
                    .rows = 0,
                    .tiles = 0,
                    .part_tokens = *std::max_element(tokens.begin(), tokens.end()),
                    .top_k = sizes.top_k};
  for (const Share& share : shares) {
    bounds.rows += share.tokens;
    bounds.tiles += (share.tokens + tile_tokens - 1) / tile_tokens;
  }
  return bounds;
}

}  // namespace afore::bench::gpu
