#pragma once
// The two all-to-alls of a target among the ranks of expert parallelism, in virtual time: hidden states to the ranks
// that run their experts (dispatch), results back (combine). Each rank has one port out and one in, for both. A
// transfer occupies a port for latency + bytes / bandwidth; transfers of one port are FIFO. Every rank waits for every
// other, so nothing is whole before the slowest sender is through. Formulas: docs/metrics.md "transfers".
#include <cstdint>
#include <span>
#include <vector>

#include "core/cost_model.h"
#include "device/sim/copy_traffic.h"

namespace afore::device {

// Token-expert pairs that leave each rank for their experts, and that reach each rank from elsewhere. Results take the
// same ways back.
struct TravellingRows {
  std::vector<std::int64_t> out, in;
};
// `tokens`: of each rank; `pairs`: computed on each rank. Which token chose what is not known, so a rank's pairs are
// cut over the ranks as the tokens are; those that stay at home do not travel.
void count_travelling(std::span<const std::int64_t> tokens, std::span<const std::int64_t> pairs, TravellingRows& rows);

class AllToAll {
 public:
  // `copies`: what else is on the ranks' links, nullptr where copies have links of their own. Outlives this.
  AllToAll(const PipelineCost& cost, int ranks, CopyTraffic* copies = nullptr);

  // What is left at `now_ns` of the last transfer on a rank's port.
  Nanos remaining_in(int rank, Nanos now_ns) const { return in_[rank].remaining(now_ns); }
  Nanos remaining_out(int rank, Nanos now_ns) const { return out_[rank].remaining(now_ns); }

  // All ranks have sent at `ready_ns` (the last of them). Fills `arrival_ns` per rank.
  void dispatch(Nanos ready_ns, std::span<const std::int64_t> rows_out, std::span<const std::int64_t> rows_in,
                std::vector<Nanos>& arrival_ns);
  // A rank sends `rows` when its experts are done; the return is when its port has sent them.
  Nanos combine_send(int rank, Nanos ready_ns, std::int64_t rows);
  // All ranks have sent: the last began at `last_start_ns` and was through at `last_sent_ns`. `rows` per rank.
  void combine_arrive(Nanos last_start_ns, Nanos last_sent_ns, std::span<const std::int64_t> rows,
                      std::vector<Nanos>& arrival_ns);

 private:
  struct Port {
    Nanos free_ns = 0, last_ns = 0;  // when it is free; how long its last transfer takes
    Nanos remaining(Nanos now_ns) const;
  };
  Nanos occupy(Port& port, int rank, CopyTraffic::Way way, Nanos ready_ns, std::int64_t rows);

  PipelineCost cost_;
  CopyTraffic* copies_;
  std::vector<Port> out_, in_;
};

}  // namespace afore::device
