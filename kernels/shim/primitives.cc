#include "kernels/primitives.h"

#include <cstring>
#include <deque>
#include <map>

#include "kernels/bf16.h"

// First version: copies arrive at once. To be as asynchronous as the hardware.
namespace afore::kernels {

void mma_m16n8k16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  struct R { const std::uint32_t* a; const std::uint32_t* b; } me{a, b};
  auto* block = ::shim::B; auto* f = block->cur; const unsigned w = f->lin / 32 * 32;
  f->xchg = reinterpret_cast<std::uint64_t>(&me); f->mask = ~0u; f->st = ::shim::St::warp_bar; ::shim::to_sched();
  const auto bfl = [](std::uint32_t r, int h) { return float_of(static_cast<std::uint16_t>(h ? r >> 16 : r)); };
  const int lane = static_cast<int>(f->lin % 32), g = lane >> 2, t = lane & 3;
  float o[4];
  for (int q = 0; q < 4; ++q) {
    const int row = g + (q >= 2 ? 8 : 0), col = t * 2 + (q & 1);
    double s = c[q];
    for (int k = 0; k < 16; ++k) {
      const int al = (row % 8) * 4 + (k % 8) / 2, ai = (row >= 8 ? 1 : 0) + (k >= 8 ? 2 : 0), bl = col * 4 + (k % 8) / 2;
      s += static_cast<double>(bfl(reinterpret_cast<R*>(block->f[w + al].xchg)->a[ai], k & 1)) *
           bfl(reinterpret_cast<R*>(block->f[w + bl].xchg)->b[k >= 8], k & 1);
    }
    o[q] = static_cast<float>(s);
  }
  f->mask = ~0u; f->st = ::shim::St::warp_bar; ::shim::to_sched();
  for (int q = 0; q < 4; ++q) c[q] = o[q];
}
void copy_async_16(void* shared, const void* global, std::uint32_t bytes) {
  std::memset(shared, 0, 16);
  std::memcpy(shared, global, bytes);
}
void copy_async_commit() {}
void copy_async_wait_left(int) {}
void load_matrix_x4(std::uint32_t (&r)[4], const void* row) {
  auto* block = ::shim::B; auto* f = block->cur; const unsigned w = f->lin / 32 * 32;
  f->xchg = reinterpret_cast<std::uint64_t>(row); f->mask = ~0u; f->st = ::shim::St::warp_bar; ::shim::to_sched();
  const int lane = static_cast<int>(f->lin % 32);
  for (int m = 0; m < 4; ++m)
    std::memcpy(&r[m], reinterpret_cast<const char*>(block->f[w + m * 8 + lane / 4].xchg) + lane % 4 * 4, 4);
  f->mask = ~0u; f->st = ::shim::St::warp_bar; ::shim::to_sched();
}

}  // namespace afore::kernels
