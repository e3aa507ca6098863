#pragma once
// Which expert copies may run: every worker has one out port and one in port, each a FIFO. A copy runs when it leads
// both its queues and both ends have released it, so its order is the plans' list order on both sides and no cycle can
// form. Knows no time and owns nothing but names; whoever uses it from several threads locks.
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "core/cost_model.h"

namespace afore::device {

class CopyPorts {
 public:
  explicit CopyPorts(int workers) : out_(workers), in_(workers) {}

  void post(const CopyId& id, const Copy& copy, bool receives);
  // Appends copies that may start now to `started`; they occupy both ports until done().
  void release(const CopyId& id, bool receives, std::vector<CopyId>& started);
  void done(const CopyId& id, std::vector<CopyId>& started);
  const Copy& copy(const CopyId& id) const { return transfers_.at(id).copy; }
  bool idle() const { return transfers_.empty(); }
  bool under_way(const CopyId& id) const { return transfers_.contains(id); }
  std::int64_t abandon_all();  // how many there were
  // No copy of a plan with a serial below `serial` is under way.
  bool idle_before(std::int64_t serial) const {
    return transfers_.empty() || transfers_.begin()->first.serial >= serial;
  }

 private:
  struct Transfer {
    Copy copy;
    bool out_released = false, in_released = false, running = false;
  };
  void try_start(const CopyId& id, std::vector<CopyId>& started);

  std::map<CopyId, Transfer> transfers_;
  std::vector<std::deque<CopyId>> out_, in_;
};

}  // namespace afore::device
