#pragma once
// Divided experts and the workers that hold their parts. Some best split has no cycle among them (tiles go round a
// cycle until a part is empty: tile sums stay, activations fall), so divisions that would close one are never needed,
// and tiles are laid out on what remains, a forest, from its leaves inwards: exactly, each part once.
#include <cstdint>
#include <span>
#include <vector>

namespace afore::placement::exact {

class PartForest {
 public:
  void reserve(int workers);
  void reset(int workers);
  int root(int worker) const;
  // Divides an expert over `workers`, which stand in different trees; `left` tiles are to be laid out beyond one each.
  void push(int expert, std::int64_t left, std::span<const int> workers);
  void pop();
  // Lays all tiles out within `room` (tile() each). False: they do not fit.
  bool lay_out(std::span<const std::int64_t> room, std::int64_t tile);

  struct Division {
    int expert = 0, first = 0, count = 0;
    std::int64_t left = 0;
    int joined = 0;  // trees joined before it
  };
  std::span<const Division> divisions() const { return divisions_; }
  int worker(int member) const { return members_[member]; }
  std::int64_t tiles(int member) const { return tiles_[member]; }  // beyond the first, after lay_out

 private:
  std::vector<Division> divisions_;
  std::vector<int> members_;
  std::vector<std::int64_t> tiles_;
  std::vector<int> parent_, size_, joined_;  // union by size, undone in reverse
  std::vector<int> degree_, open_;
  std::vector<std::int64_t> capacity_, left_;
  std::vector<char> done_;
};

}  // namespace afore::placement::exact
