#include "kernels/shim/copies.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "kernels/shim/schedule.h"
#include "kernels/shim/shared_memory.h"

namespace afore::shim {
namespace {

void carry_out(void* shared, const void* global, std::uint32_t bytes) {
  std::memcpy(shared, global, bytes);
  std::memset(static_cast<char*>(shared) + bytes, 0, 16 - bytes);
}

bool aligned(const void* pointer) { return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0; }

}  // namespace

void Copies::queue(void* shared, const void* global, std::uint32_t bytes) {
  if (!aligned(shared) || !aligned(global))
    throw std::runtime_error("an asynchronous copy of 16 bytes whose addresses are not multiples of 16");
  if (!is_shared(shared, 16)) throw std::runtime_error("an asynchronous copy to what is not shared memory");
  if (bytes > 16) throw std::runtime_error("an asynchronous copy of 16 bytes that reads more");
  waiting_.push_back({shared, global, bytes, group_});
  perhaps_arrive();
}

void Copies::commit() { ++group_; }

// Copies that were not committed belong to no group: no wait demands them.
void Copies::wait(unsigned groups_left) {
  const std::uint64_t end = group_ > groups_left ? group_ - groups_left : 0;
  std::size_t kept = 0;
  for (const Copy& copy : waiting_) {
    if (copy.group < end) carry_out(copy.shared, copy.global, copy.bytes);
    else waiting_[kept++] = copy;
  }
  waiting_.resize(kept);
}

void Copies::perhaps_arrive() {
  if (waiting_.empty() || !random_schedule() || draw(4) != 0) return;
  std::swap(waiting_[draw(waiting_.size())], waiting_.back());
  carry_out(waiting_.back().shared, waiting_.back().global, waiting_.back().bytes);
  waiting_.pop_back();
}

void Copies::finish() {
  for (const Copy& copy : waiting_) carry_out(copy.shared, copy.global, copy.bytes);
  forget();
}

void Copies::forget() {
  waiting_.clear();
  group_ = 0;
}

}  // namespace afore::shim
