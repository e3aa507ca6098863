#pragma once
// Which expert copies may run: every worker has one out port and one in port, each a FIFO. A copy runs when it leads
// both its queues and both ends have released it, so its order is the plans' list order on both sides and no cycle can
// form. Knows no time and owns nothing but names; whoever uses it from several threads locks.
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "core/cost_model.h"

namespace afore::device {

using CopyKey = std::pair<std::int64_t, int>;  // plan serial, place in its list

class CopyPorts {
 public:
  explicit CopyPorts(int workers) : out_(workers), in_(workers) {}

  void post(const CopyKey& key, const Copy& copy, bool receives);
  // Appends copies that may start now to `started`; they occupy both ports until done().
  void release(const CopyKey& key, bool receives, std::vector<CopyKey>& started);
  void done(const CopyKey& key, std::vector<CopyKey>& started);
  const Copy& copy(const CopyKey& key) const { return transfers_.at(key).copy; }
  bool idle() const { return transfers_.empty(); }
  bool under_way(const CopyKey& key) const { return transfers_.contains(key); }
  std::int64_t abandon_all();  // how many there were
  // No copy of a plan with a serial below `serial` is under way.
  bool idle_before(std::int64_t serial) const {
    return transfers_.empty() || transfers_.begin()->first.first >= serial;
  }

 private:
  struct Transfer {
    Copy copy;
    bool out_released = false, in_released = false, running = false;
  };
  void try_start(const CopyKey& key, std::vector<CopyKey>& started);

  std::map<CopyKey, Transfer> transfers_;
  std::vector<std::deque<CopyKey>> out_, in_;
};

}  // namespace afore::device
