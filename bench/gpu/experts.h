#pragma once
// Experts in an arena, and tiles of so many rows of each.
#include <algorithm>
#include <cmath>
#include <vector>

#include "bench/gpu/context.h"
#include "kernels/expert_ffn.h"
#include "tests/kernels/inputs.h"

namespace afore::bench::gpu {

inline std::int64_t slot_bytes(std::int32_t hidden, std::int32_t intermediate) {
  return (kernels::expert_bytes(hidden, intermediate) + 255) / 256 * 256;
}

// On the host, with weights that keep rows at their size.
struct HostExperts {
  HostExperts(std::int32_t slots, std::int32_t hidden, std::int32_t intermediate, std::uint64_t seed)
      : arena{nullptr, slot_bytes(hidden, intermediate), hidden, intermediate},
        memory(area(slots, arena.slot_bytes / 2), kernels::kBf16NaN) {
    arena.base = reinterpret_cast<const std::byte*>(memory.data());
    const auto elements = static_cast<std::size_t>(kernels::expert_bytes(hidden, intermediate) / 2);
    parallel_for(slots, [&](std::int64_t s) {
      const auto values = kernels::Numbers(seed + static_cast<std::uint64_t>(s))
                              .bf16s(elements, 2 / std::sqrt(static_cast<float>(hidden)));
      std::copy(values.begin(), values.end(), memory.begin() + s * arena.slot_bytes / 2);
    });
  }
  const std::uint16_t* gate(std::int32_t slot) const { return memory.data() + slot * arena.slot_bytes / 2; }
  const std::uint16_t* up(std::int32_t slot) const {
    return gate(slot) + std::int64_t{arena.hidden} * arena.intermediate;
  }
  const std::uint16_t* down(std::int32_t slot) const {
    return up(slot) + std::int64_t{arena.hidden} * arena.intermediate;
  }
  kernels::ExpertArena on_device(const Buffer<std::uint16_t>& there) const {
    kernels::ExpertArena moved = arena;
    moved.base = reinterpret_cast<const std::byte*>(there.data());
    return moved;
  }

  kernels::ExpertArena arena;
  std::vector<std::uint16_t> memory;
};

struct ExpertWork {
  // rows_of_slots[i] rows of slot first_slot + i.
  ExpertWork(const std::vector<std::int32_t>& rows_of_slots, std::int32_t tile_tokens, std::int32_t first_slot = 0) {
    for (std::size_t s = 0; s < rows_of_slots.size(); ++s)
      for (std::int32_t left = rows_of_slots[s]; left > 0; left -= tile_tokens) {
        tiles.push_back({first_slot + static_cast<std::int32_t>(s), counts.rows, std::min(left, tile_tokens)});
        counts.rows += tiles.back().rows;
      }
    counts.shares = static_cast<std::int32_t>(rows_of_slots.size());
    counts.tiles = static_cast<std::int32_t>(tiles.size());
  }
  std::vector<kernels::Tile> tiles;
  kernels::WorkCounts counts;
};

struct DeviceWork {
  explicit DeviceWork(const ExpertWork& work)
      : tiles(work.tiles), counts(std::vector<kernels::WorkCounts>{work.counts}) {}
  Buffer<kernels::Tile> tiles;
  Buffer<kernels::WorkCounts> counts;
};

}  // namespace afore::bench::gpu
