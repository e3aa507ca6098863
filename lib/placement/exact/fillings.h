#pragma once
// How full a worker can get with whole experts: the largest subset sum of the undecided ones within its room. The
// threshold search asks at every node and few answers differ, so they are kept.
#include <array>
#include <cstdint>
#include <vector>

namespace afore::placement::exact {

class Fillings {
 public:
  static constexpr int kExperts = 64;  // per worker that are told apart
  static constexpr std::int64_t kNotKnown = -1;

  void reserve(int workers);
  // An expert of n tiles takes tile*n + setup.
  void begin(int workers, std::int64_t tile, std::int64_t setup);
  // One more expert that the worker may hold: its bit, or -1 where all are taken; then nothing is known of the worker.
  int add(int worker, std::int64_t tiles);
  // Largest sum within `room` of experts in the set; kNotKnown where it would take too long.
  std::int64_t most(int worker, std::int64_t room, std::uint64_t experts);

 private:
  static constexpr int kKept = 8;    // answers per worker
  static constexpr int kWords = 64;  // of bits, all rows
  struct Answer {
    std::int64_t room = -1;
    std::uint64_t experts = 0;
    std::int64_t sum = 0;
  };
  std::int64_t compute(int worker, std::int64_t room, std::uint64_t experts);

  std::int64_t tile_ = 1, setup_ = 0, setup_tiles_ = 0;
  bool one_row_ = true;  // a setup is a whole number of tiles
  std::vector<int> count_;
  std::vector<std::array<std::int64_t, kExperts>> tiles_;
  std::vector<std::array<Answer, kKept>> kept_;
  std::array<std::uint64_t, kWords> bits_{};
};

}  // namespace afore::placement::exact
