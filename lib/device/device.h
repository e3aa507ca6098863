#pragma once
// The seam between hosts, which decide what runs when, and what computes it. A worker has lanes; an operation is
// enqueued at the end of its lane and may still run when the call returns. Who needs a result waits for the ticket;
// everything enqueued before it on that lane is done then too. A device that computes on the calling thread returns
// tickets that are done.
//
// Across workers the host's order counts: it enqueues an operation when it was told that what this needs is done, or
// is enqueued by the same worker. What a device enqueues ahead of the host's knowledge (a whole layer, from combine to
// the next gate and beyond), it orders by itself.
//
// Each object is used by one thread at a time, different objects at once; Device::abort() comes from any.
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/page_pool.h"
#include "device/step.h"

namespace afore::device {

// How rows of experts come together (docs/architecture.md).
//   exact: one row per (token, k), added on the attention worker in k order, shared experts last: the same bits for
//          any split over workers.
//   partial: each FFN worker adds its own rows; the attention worker adds the workers' sums.
enum class Combine { exact, partial };

using Ticket = std::uint64_t;  // 0 is done

// Assignments first … first + tokens - 1 of an expert in a target, numbered over the attention workers in their order
// and within one in token order.
struct RowShare {
  int expert = 0;
  std::int64_t first = 0, tokens = 0;
  std::int64_t slot = 0;  // of the worker's arena; below 0: -1 - place among the experts that stand everywhere
};

// One attention worker: its cache, and its part of a decoder, which is everything but the routed experts. A step goes:
// begin(), then for each MoE layer to_gate() and, when its experts' rows are there, combine(); at the end sample().
class Attention {
 public:
  virtual ~Attention() = default;

  virtual PagePool& pages() = 0;
  virtual std::unique_ptr<Step> make_step() = 0;  // that only this worker and ExpertWorkers of the same device touch

  // Extends the sequences' pages. Error{data}, from any wait: values overflow.
  virtual void begin(Step& step) = 0;
  // Through MoE layer `layer`'s attention and gate, which runs here and nowhere else. Its ticket: `counts` are there,
  // and experts may read the step; what the layer's shared experts add may take longer.
  virtual Ticket to_gate(Step& step, int layer) = 0;
  // Adds what the experts returned. `used`: partial only, whether FFN worker w had work.
  virtual void combine(Step& step, const std::vector<bool>& used) = 0;
  // Through the layers behind the last MoE layer to the next tokens: `sampled`.
  virtual Ticket sample(Step& step) = 0;
  virtual void wait(Ticket ticket) = 0;

  // Called by wait() for a sample(), where tokens were sampled: their logits, [slices that sample][vocab]. To compare
  // what two runs computed. Set before the first step.
  using Observer = std::function<void(const Step& step, std::span<const float> logits)>;
  virtual void observe(Observer observer) = 0;
  virtual std::int64_t gate_tokens() const = 0;  // how often the gate was evaluated, by token
};

// One FFN worker: an arena of equal slots for experts, a compute lane and a copy lane.
class ExpertWorker {
 public:
  virtual ~ExpertWorker() = default;

  virtual void load(std::int64_t slot, int layer, int expert) = 0;  // from the model; returns when it is there

  // What stands in a slot that nothing writes to now, in the device's own form: for checks.
  virtual std::vector<std::byte> read(std::int64_t slot) = 0;

  // Rows of the shares through their experts, to where the attention workers combine them. `steps`: the target's step
  // on each attention worker, through the gate.
  virtual Ticket run(std::span<Step* const> steps, std::span<const RowShare> shares) = 0;
  virtual void wait(Ticket ticket) = 0;

  // The copy lane: `from`'s slot into one of this worker's, one copy at a time. poll() helps it on where it takes the
  // caller's time, and tells whether it is complete. May be called by another thread than the compute lane's.
  virtual Ticket copy(ExpertWorker& from, std::int64_t from_slot, std::int64_t to_slot) = 0;
  virtual bool poll(Ticket copy) = 0;
  virtual bool polls_move() const = 0;  // copies advance by poll() alone, not by themselves
};

struct DeviceOptions {
  int attention_workers = 1, ffn_workers = 1;
  Combine combine = Combine::exact;
  std::int64_t kv_budget_tokens = 0;  // of each attention worker
  int tile_tokens = 0;                // M tile of the expert FFN; one of the device's
  bool sm_partitions = true;          // workers that share a GPU compute on SMs of their own, where that can be had
};

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string name() const = 0;               // as summaries say it: "cpu-avx2"
  virtual std::string sharing() const { return ""; }  // "4 virtual workers on …" where workers share an accelerator
  virtual std::unique_ptr<Attention> make_attention(int worker) = 0;
  virtual std::unique_ptr<ExpertWorker> make_experts(int worker, std::int64_t slots) = 0;
  // Every expert of `layers`, readable by all workers, for plans that own no slots: place = ordinal of the layer *
  // experts + expert. Error{usage} where the device's workers cannot share memory.
  virtual void load_everywhere(std::span<const int> layers) = 0;

  // Ends what waits for other workers, from any thread, at any time: such waits throw Error{io} with `why`, or return
  // though what they waited for means nothing. The device and its workers are of no use afterwards.
  virtual void abort(const std::string& /*why*/) noexcept {}
};

}  // namespace afore::device
