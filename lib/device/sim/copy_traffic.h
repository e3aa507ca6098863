#pragma once
// Copies that share the FFN workers' links with hidden states, in virtual time. A copy travels in chunks; a transfer of
// hidden states waits for the chunk that is on the link, then goes ahead of the rest, which ends that much later
// (docs/metrics.md "shared links"). With one chunk per expert a transfer waits for the whole copy.
#include <map>
#include <optional>
#include <vector>

#include "core/cost_model.h"
#include "device/copy_ports.h"

namespace afore::device {

class CopyTraffic {
 public:
  enum class Way { in, out };

  CopyTraffic(int ffn_workers, Nanos chunk_ns) : chunk_ns_(chunk_ns), on_link_(2 * ffn_workers) {}

  // `behind_ns`: what is left of transfers on its two links; the copy goes behind them.
  void started(const CopyId& id, const Copy& copy, Nanos now_ns, Nanos behind_ns);
  // A transfer takes the worker's link at `at_ns` for `duration_ns`: how long it waits for a chunk.
  Nanos go_ahead(int worker, Way way, Nanos at_ns, Nanos duration_ns);
  // What the copy still has to wait at the moment it would be done; 0 = it is done, and off the links.
  Nanos take_delay(const CopyId& id);
  void abandon_all();

 private:
  struct Running {
    Copy copy;
    Nanos started_ns = 0, delay_ns = 0;
  };
  std::optional<CopyId>& on_link(int worker, Way way) { return on_link_[2 * worker + (way == Way::in ? 0 : 1)]; }

  Nanos chunk_ns_;
  std::vector<std::optional<CopyId>> on_link_;  // by worker and way; ports are FIFO, so there is at most one
  std::map<CopyId, Running> running_;
};

}  // namespace afore::device
