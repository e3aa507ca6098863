#include "device/sim/all_to_all.h"

#include <algorithm>

namespace afore::device {

void count_travelling(std::span<const std::int64_t> tokens, std::span<const std::int64_t> pairs, TravellingRows& rows) {
  rows.out.assign(tokens.size(), 0);
  rows.in.assign(pairs.size(), 0);
  std::int64_t all = 0;
  for (const std::int64_t t : tokens) all += t;
  if (all == 0) return;
  for (std::size_t to = 0; to < pairs.size(); ++to) {
    std::int64_t before = 0;
    for (std::size_t from = 0; from < tokens.size(); ++from) {
      const std::int64_t upto = before + tokens[from];
      const std::int64_t share = pairs[to] * upto / all - pairs[to] * before / all;
      before = upto;
      if (from == to) continue;
      rows.out[from] += share;
      rows.in[to] += share;
    }
  }
}

AllToAll::AllToAll(const PipelineCost& cost, int ranks, CopyTraffic* copies)
    : cost_(cost), copies_(copies), out_(ranks), in_(ranks) {}

Nanos AllToAll::Port::remaining(Nanos now_ns) const { return std::clamp<Nanos>(free_ns - now_ns, 0, last_ns); }

Nanos AllToAll::occupy(Port& port, int rank, CopyTraffic::Way way, Nanos ready_ns, std::int64_t rows) {
  const Nanos start = std::max(ready_ns, port.free_ns);
  port.last_ns = cost_.transfer_ns(static_cast<double>(rows) * static_cast<double>(cost_.activation_bytes));
  const Nanos wait = copies_ == nullptr ? 0 : copies_->go_ahead(rank, way, start, port.last_ns);
  port.free_ns = start + wait + port.last_ns;
  return port.free_ns;
}

void AllToAll::dispatch(Nanos ready_ns, std::span<const std::int64_t> rows_out, std::span<const std::int64_t> rows_in,
                        std::vector<Nanos>& arrival_ns) {
  Nanos sent = 0;
  for (std::size_t r = 0; r < out_.size(); ++r)
    sent = std::max(sent, occupy(out_[r], static_cast<int>(r), CopyTraffic::Way::out, ready_ns, rows_out[r]));
  arrival_ns.resize(in_.size());
  for (std::size_t r = 0; r < in_.size(); ++r) {
    const Nanos taken = occupy(in_[r], static_cast<int>(r), CopyTraffic::Way::in, ready_ns, rows_in[r]);
    arrival_ns[r] = in_[r].free_ns = std::max(sent, taken);
  }
}

Nanos AllToAll::combine_send(int rank, Nanos ready_ns, std::int64_t rows) {
  return occupy(out_[rank], rank, CopyTraffic::Way::out, ready_ns, rows);
}

void AllToAll::combine_arrive(Nanos last_start_ns, Nanos last_sent_ns, std::span<const std::int64_t> rows,
                              std::vector<Nanos>& arrival_ns) {
  arrival_ns.resize(in_.size());
  for (std::size_t r = 0; r < in_.size(); ++r) {
    const Nanos taken = occupy(in_[r], static_cast<int>(r), CopyTraffic::Way::in, last_start_ns, rows[r]);
    arrival_ns[r] = in_[r].free_ns = std::max(last_sent_ns, taken);
  }
}

}  // namespace afore::device
