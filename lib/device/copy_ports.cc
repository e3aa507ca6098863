#include "device/copy_ports.h"

#include "util/error.h"

namespace afore::device {

void CopyPorts::post(const CopyId& id, const Copy& copy, bool receives) {
  transfers_[id].copy = copy;
  (receives ? in_[copy.to] : out_[copy.from]).push_back(id);
}

void CopyPorts::release(const CopyId& id, bool receives, std::vector<CopyId>& started) {
  Transfer& transfer = transfers_.at(id);
  (receives ? transfer.in_released : transfer.out_released) = true;
  try_start(id, started);
}

std::int64_t CopyPorts::abandon_all() {
  const auto abandoned = static_cast<std::int64_t>(transfers_.size());
  transfers_.clear();
  for (auto* ports : {&out_, &in_})
    for (auto& queue : *ports) queue.clear();
  return abandoned;
}

void CopyPorts::try_start(const CopyId& id, std::vector<CopyId>& started) {
  const auto it = transfers_.find(id);
  AFORE_CHECK(it != transfers_.end(), "a copy is released that was not posted");
  Transfer& transfer = it->second;
  if (transfer.running || !transfer.out_released || !transfer.in_released) return;
  const auto& out = out_[transfer.copy.from];
  const auto& in = in_[transfer.copy.to];
  if (out.front() != id || in.front() != id) return;
  transfer.running = true;
  started.push_back(id);
}

void CopyPorts::done(const CopyId& id, std::vector<CopyId>& started) {
  const auto it = transfers_.find(id);
  AFORE_CHECK(it != transfers_.end() && it->second.running, "a copy is done that was not running");
  const Copy copy = it->second.copy;
  transfers_.erase(it);
  out_[copy.from].pop_front();
  in_[copy.to].pop_front();
  // The same copy may lead both queues: it is started once, since try_start marks it running.
  if (!out_[copy.from].empty()) try_start(out_[copy.from].front(), started);
  if (!in_[copy.to].empty()) try_start(in_[copy.to].front(), started);
}

}  // namespace afore::device
