#pragma once
#include "attention_scene.h"
#include "memory.h"

namespace afore::kernels {

// A scene in memory that notices what is outside it.
struct Guarded {
  Memory<std::int32_t> slice, position, pages, pages_begin;
  Memory<std::uint16_t> cache;
  Memory<float> q;

  explicit Guarded(const Scene& scene)
      : slice(scene.slice),
        position(scene.position),
        pages(scene.pages),
        pages_begin(scene.pages_begin),
        cache(scene.cache),
        q(scene.q) {}
  TokenPlaces places() const { return {slice.data(), position.data(), pages.data(), pages_begin.data()}; }
};

}  // namespace afore::kernels
