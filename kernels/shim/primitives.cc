// What kernels/primitives.h says in PTX on devices.
#include "kernels/primitives.h"

#include <cstring>
#include <stdexcept>

#include "kernels/bf16.h"
#include "kernels/shim/shared_memory.h"

namespace afore::kernels {
namespace {

using shim::Lanes;

void need_whole_warp(const Lanes& lanes) {
  if (lanes.present != 0xffffffffu) throw std::runtime_error("mma and ldmatrix need all 32 lanes of the warp");
}

float half_of(std::uint32_t pair, int half) { return float_of(static_cast<std::uint16_t>(pair >> half * 16)); }

struct Fragments {
  float* c;
  const std::uint32_t *a, *b;
};

// Fragments as PTX lays them out: lane 4 g + t has of a the rows g and g + 8 at columns 2 t, 2 t + 1 and 8 more; of b
// those rows of column g; of c the columns 2 t, 2 t + 1 of rows g and g + 8. A product of two bf16 is exact in float32.
// The sum begins with c and takes k in order, each addition rounded to the nearest. A device sums in another order and
// keeps more bits in between, so only the bound of the error is common.
void multiply(Lanes& lanes) {
  need_whole_warp(lanes);
  float a[16][16], b[16][8], c[16][8];
  const auto of = [&](int lane) -> const Fragments& {
    return *static_cast<const Fragments*>(lanes.operand[static_cast<unsigned>(lane)]);
  };
  for (int lane = 0; lane < 32; ++lane) {
    const int g = lane / 4, t = lane % 4;
    for (int i = 0; i < 4; ++i)
      for (int half = 0; half < 2; ++half) {
        a[g + i % 2 * 8][t * 2 + half + i / 2 * 8] = half_of(of(lane).a[i], half);
        c[g + i / 2 * 8][t * 2 + i % 2] = of(lane).c[i];
        if (i < 2) b[t * 2 + half + i * 8][g] = half_of(of(lane).b[i], half);
      }
  }
  for (int m = 0; m < 16; ++m)
    for (int k = 0; k < 16; ++k)
      for (int n = 0; n < 8; ++n) c[m][n] += a[m][k] * b[k][n];
  for (int lane = 0; lane < 32; ++lane)
    for (int i = 0; i < 4; ++i) of(lane).c[i] = c[lane / 4 + i / 2 * 8][lane % 4 * 2 + i % 2];
}

struct Loaded {
  const void* row;
  std::uint32_t* r;
};

void load(Lanes& lanes) {
  need_whole_warp(lanes);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned matrix = 0; matrix < 4; ++matrix) {
      const auto* row = static_cast<const char*>(static_cast<Loaded*>(lanes.operand[matrix * 8 + lane / 4])->row);
      std::memcpy(&static_cast<Loaded*>(lanes.operand[lane])->r[matrix], row + lane % 4 * 4, 4);
    }
}

}  // namespace

void mma_m16n8k16(float (&c)[4], const std::uint32_t (&a)[4], const std::uint32_t (&b)[2]) {
  Fragments mine{c, a, b};
  shim::meet(0xffffffffu, &mine, &multiply, shim::Site::current());
}

void load_matrix_x4(std::uint32_t (&r)[4], const void* row) {
  if (reinterpret_cast<std::uintptr_t>(row) % 16 != 0)
    throw std::runtime_error("ldmatrix: a row whose address is not a multiple of 16");
  if (!shim::is_shared(row, 16)) throw std::runtime_error("ldmatrix: a row that is not in shared memory");
  Loaded mine{row, r};
  shim::meet(0xffffffffu, &mine, &load, shim::Site::current());
}

void copy_async_16(void* shared, const void* global, std::uint32_t bytes) { shim::queue_copy(shared, global, bytes); }
void copy_async_commit() { shim::commit_copies(); }
void copy_async_wait_left(int left) { shim::wait_copies(static_cast<unsigned>(left)); }

}  // namespace afore::kernels
