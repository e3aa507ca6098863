#include "device/sim/links.h"

#include <algorithm>

namespace afore::device {

Nanos SimLinks::transfer_ns(std::int64_t rows, std::int64_t times) const {
  const double bytes = static_cast<double>(rows) * static_cast<double>(cost_.activation_bytes);
  const Nanos ns = cost_.transfer_ns(bytes * static_cast<double>(times));
  return slowdown_ == 1 ? ns : static_cast<Nanos>(static_cast<double>(ns) * slowdown_);
}

SimLinks::SimLinks(const PipelineCost& cost, int attention_workers, int ffn_workers, CopyTraffic* copies)
    : cost_(cost),
      copies_(copies),
      a_out_(attention_workers, 0),
      a_in_(attention_workers, 0),
      f_in_(ffn_workers, 0),
      f_out_(ffn_workers, 0),
      f_in_ns_(ffn_workers, 0),
      f_out_ns_(ffn_workers, 0) {}

Nanos SimLinks::remaining_in(int worker, Nanos now_ns) const {
  return std::clamp<Nanos>(f_in_[worker] - now_ns, 0, f_in_ns_[worker]);
}

Nanos SimLinks::remaining_out(int worker, Nanos now_ns) const {
  return std::clamp<Nanos>(f_out_[worker] - now_ns, 0, f_out_ns_[worker]);
}

Nanos SimLinks::wait_for_chunk(int worker, CopyTraffic::Way way, Nanos at_ns, Nanos duration_ns) {
  return copies_ == nullptr ? 0 : copies_->go_ahead(worker, way, at_ns, duration_ns);
}

void SimLinks::a2f(Nanos ready_ns, std::span<const std::int64_t> tokens, std::int64_t copies_per_token,
                   std::span<const std::int64_t> rows, std::vector<Nanos>& arrival_ns) {
  // Every FFN worker hears from every attention worker, so nothing is whole before the slowest sender is through.
  Nanos sent = 0;
  for (std::size_t a = 0; a < a_out_.size(); ++a) {
    a_out_[a] = std::max(ready_ns, a_out_[a]) + transfer_ns(tokens[a], copies_per_token);
    sent = std::max(sent, a_out_[a]);
  }
  arrival_ns.resize(f_in_.size());
  for (std::size_t w = 0; w < f_in_.size(); ++w) {
    const Nanos start = std::max(ready_ns, f_in_[w]);
    f_in_ns_[w] = transfer_ns(rows[w]);
    const Nanos wait = wait_for_chunk(static_cast<int>(w), CopyTraffic::Way::in, start, f_in_ns_[w]);
    f_in_[w] = std::max(sent, start + wait + f_in_ns_[w]);
    arrival_ns[w] = f_in_[w];
  }
}

Nanos SimLinks::f2a_send(int worker, Nanos ready_ns, std::int64_t rows) {
  const Nanos start = std::max(ready_ns, f_out_[worker]);
  f_out_ns_[worker] = transfer_ns(rows);
  f_out_[worker] = start + wait_for_chunk(worker, CopyTraffic::Way::out, start, f_out_ns_[worker]) + f_out_ns_[worker];
  return f_out_[worker];
}

void SimLinks::f2a_arrive(Nanos last_start_ns, Nanos last_sent_ns, std::span<const std::int64_t> rows,
                          std::vector<Nanos>& arrival_ns) {
  arrival_ns.resize(a_in_.size());
  for (std::size_t a = 0; a < a_in_.size(); ++a) {
    a_in_[a] = std::max(last_sent_ns, std::max(last_start_ns, a_in_[a]) + transfer_ns(rows[a]));
    arrival_ns[a] = a_in_[a];
  }
}

}  // namespace afore::device
