#include "placement/exact/part_forest.h"

#include <algorithm>
#include <numeric>

#include "placement/exact/loads.h"

namespace afore::placement::exact {

// A forest has fewer divisions than workers, and fewer members than twice that.
void PartForest::reserve(int workers) {
  const auto most = static_cast<std::size_t>(workers);
  for (auto* by_worker : {&parent_, &size_, &joined_, &degree_, &open_}) by_worker->reserve(most);
  capacity_.reserve(most);
  left_.reserve(most);
  divisions_.reserve(most);
  members_.reserve(2 * most);
  tiles_.reserve(2 * most);
  done_.reserve(2 * most);
}

void PartForest::reset(int workers) {
  parent_.resize(workers);
  std::iota(parent_.begin(), parent_.end(), 0);
  size_.assign(workers, 1);
  degree_.resize(workers);
  capacity_.resize(workers);
  joined_.clear();
  divisions_.clear();
  members_.clear();
}

int PartForest::root(int worker) const {
  while (parent_[worker] != worker) worker = parent_[worker];
  return worker;
}

void PartForest::push(int expert, std::int64_t left, std::span<const int> workers) {
  divisions_.push_back({expert, static_cast<int>(members_.size()), static_cast<int>(workers.size()), left,
                        static_cast<int>(joined_.size())});
  members_.insert(members_.end(), workers.begin(), workers.end());
  int top = root(workers[0]);
  for (const int worker : workers.subspan(1)) {
    int other = root(worker);
    if (size_[other] > size_[top]) std::swap(other, top);
    parent_[other] = top;
    size_[top] += size_[other];
    joined_.push_back(other);
  }
}

void PartForest::pop() {
  const Division division = divisions_.back();
  divisions_.pop_back();
  members_.resize(division.first);
  while (static_cast<int>(joined_.size()) > division.joined) {
    const int other = joined_.back();
    joined_.pop_back();
    size_[parent_[other]] -= size_[other];
    parent_[other] = other;
  }
}

bool PartForest::lay_out(std::span<const std::int64_t> room, std::int64_t tile) {
  tiles_.assign(members_.size(), 0);
  done_.assign(members_.size(), 0);
  for (const int w : members_) {
    degree_[w] = 0;
    capacity_[w] = tile == 0 ? kUnlimited : room[w] / tile;
  }
  for (const int w : members_) ++degree_[w];
  open_.clear();
  left_.clear();
  for (const Division& division : divisions_) {
    open_.push_back(division.count);
    left_.push_back(division.left);
  }
  std::size_t undone = members_.size();
  const auto lay = [&](std::size_t d, int member, std::int64_t tiles) {
    const int w = members_[member];
    tiles_[member] = tiles;
    capacity_[w] -= tiles;
    left_[d] -= tiles;
    --degree_[w];
    --open_[d];
    done_[member] = 1;
    --undone;
  };
  while (undone > 0)
    for (std::size_t d = 0; d < divisions_.size(); ++d) {
      const Division& division = divisions_[d];
      for (int m = division.first; m < division.first + division.count; ++m) {
        if (done_[m]) continue;
        const int w = members_[m];
        // Nobody else needs this worker; or the expert has no other left.
        if (degree_[w] == 1) lay(d, m, std::min(left_[d], capacity_[w]));
        else if (open_[d] == 1 && left_[d] <= capacity_[w]) lay(d, m, left_[d]);
        else if (open_[d] == 1) return false;
      }
      if (open_[d] == 0 && left_[d] > 0) return false;
    }
  return true;
}

}  // namespace afore::placement::exact
