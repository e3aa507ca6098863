#pragma once
// A thread's asynchronous copies that have not arrived.
#include <cstdint>
#include <vector>

namespace afore::shim {

class Copies {
 public:
  void queue(void* shared, const void* global, std::uint32_t bytes);
  void commit();
  void wait(unsigned groups_left);
  // Under a random schedule, sometimes one of them.
  void perhaps_arrive();
  void finish();  // all, at the block's end
  void forget();

 private:
  struct Copy {
    void* shared;
    const void* global;
    std::uint32_t bytes;
    std::uint64_t group;
  };
  std::vector<Copy> waiting_;
  std::uint64_t group_ = 0;  // the number of commits so far
};

}  // namespace afore::shim
