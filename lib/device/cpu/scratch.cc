#include <new>

#include "device/cpu/kernels.h"
#include "util/error.h"

namespace afore::device::cpu {

namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

std::byte* Scratch::get(int slot, std::size_t bytes) {
  AFORE_CHECK(slot >= 0 && slot < 8, "a scratch slot that is not there");
  Block& block = blocks_[slot];
  if (block.size < bytes) {
    const std::size_t size = bytes + bytes / 2;  // calls that grow little by little allocate seldom
    auto* data = static_cast<std::byte*>(::operator new(size, kAlignment));
    ::operator delete(block.data, kAlignment);
    block = {data, size};
  }
  return block.data;
}

Scratch::~Scratch() {
  for (const Block& block : blocks_) ::operator delete(block.data, kAlignment);
}

}  // namespace afore::device::cpu
