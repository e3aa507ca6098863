#pragma once
// A scene of attention (tests/kernels/attention_scene.h) on the device.
#include "bench/gpu/context.h"
#include "tests/kernels/attention_scene.h"

namespace afore::bench::gpu {

struct DeviceScene {
  explicit DeviceScene(const kernels::Scene& from)
      : scene(from),
        slice(from.slice),
        position(from.position),
        pages(from.pages),
        pages_begin(from.pages_begin),
        cache(from.cache),
        q(from.q) {}

  kernels::TokenPlaces places() const { return {slice.data(), position.data(), pages.data(), pages_begin.data()}; }
  std::vector<std::uint16_t> decode(const std::vector<std::int32_t>& tokens) const {
    const auto count = static_cast<std::int32_t>(tokens.size());
    const Buffer<std::int32_t> listed(tokens);
    const Buffer<float> scratch(
        static_cast<std::size_t>(kernels::attend_scratch_floats(scene.shape, count, scene.most_positions())));
    const Buffer<std::uint16_t> out(scene.out_size());
    kernels::attend_decode(scene.shape, q.data(), cache.data(), places(), listed.data(), count, scene.most_positions(),
                           scratch.data(), out.data(), stream());
    return out.values();
  }
  std::vector<std::uint16_t> prefill(const std::vector<kernels::QueryRun>& runs) const {
    const Buffer<kernels::QueryRun> listed(runs);
    const Buffer<std::uint16_t> out(scene.out_size());
    kernels::attend_prefill(scene.shape, q.data(), cache.data(), places(), listed.data(),
                            static_cast<std::int32_t>(runs.size()), out.data(), stream());
    return out.values();
  }

  const kernels::Scene& scene;
  Buffer<std::int32_t> slice, position, pages, pages_begin;
  Buffer<std::uint16_t> cache;
  Buffer<float> q;
};

// As many tokens in a run as there may be.
inline std::vector<kernels::QueryRun> runs_of(const kernels::Scene& scene) {
  std::vector<kernels::QueryRun> runs;
  for (std::int32_t t = 0; t < scene.tokens(); ++t) {
    const bool joins = !runs.empty() && runs.back().tokens < kernels::kQueryTile &&
                       scene.slice[static_cast<std::size_t>(t)] == scene.slice[static_cast<std::size_t>(t) - 1];
    if (joins) ++runs.back().tokens;
    else runs.push_back({t, 1});
  }
  return runs;
}

}  // namespace afore::bench::gpu
