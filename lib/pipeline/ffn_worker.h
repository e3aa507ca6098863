#pragma once
// Runs its experts' share of each target in stream order. Takes a plan as soon as it is published and starts the
// copies it names at once, while earlier targets compute; a target waits only for copies it uses. Checks in release
// builds: plans in order, replicas complete before use, slots with pending work never overwritten.
//
// When another worker is lost, an epoch ends: unfinished targets and copies are dropped, what is complete here is told,
// and the layers' maps are set anew. Targets that were dropped come again with new plans.
#include <cstdint>
#include <deque>
#include <map>
#include <set>
#include <vector>

#include "pipeline/messages.h"

namespace afore::pipeline {

inline constexpr int kFromSource = -1;  // a copy's `from`: the weights' source, not another worker

class FfnWorker {
 public:
  class Actions {
   public:
    virtual ~Actions() = default;
    // Both ends post a copy, in list order per end; it runs when it leads both ends' queues and both have released it.
    // `slot` is this end's: the one that is read where it sends, the one that is filled where it receives; numbered as
    // inventory() has them, staging last.
    virtual void post_copy(int worker, const CopyId& id, const Copy& copy, bool receives, int layer, int slot) = 0;
    virtual void release_copy(int worker, const CopyId& id, bool receives) = 0;
    // -> on_ffn_done. `slots`: where the weights of each share of the plan's of(worker) are, in that order; none for
    // virtual plans, which own no slots.
    virtual void run_ffn(int worker, const Target& target, std::int64_t tiles, std::int64_t activated,
                         std::span<const int> slots) = 0;
    virtual void send_outputs(int worker, const Target& target) = 0;
    virtual void report(int worker, const Target& target, const WorkerTimes& times) = 0;
  };

  // overlap = false: copies start only when the worker is free for their target (the ablation without overlap).
  FfnWorker(int index, bool overlap, Actions& actions) : index_(index), overlap_(overlap), actions_(actions) {}

  // A layer's map before its first plan. Only this worker's slots are kept.
  void set_placement(int layer, const LayerPlacement& placement);

  void on_plan(Nanos now, const PlanPtr& plan);
  void on_rows(Nanos now, const Target& target);
  void on_copy_started(Nanos now, const CopyId& id);
  void on_copy_done(Nanos now, const CopyId& id, bool receives);  // a reload too, as receiving
  void on_ffn_done(Nanos now, const Target& target);

  // The next plan is that of target `next_serial`. Results of what was running must not be handed in any more.
  void on_epoch(std::int64_t next_serial);
  // What is complete here: the expert by slot of a layer, regular slots, then staging. Layers without a map: empty.
  std::vector<int> inventory(int layer) const;
  // The slot's expert, as set_placement() has it, is being read from its source and may not be used before `id` is
  // done.
  void on_reload(int layer, int slot, const CopyId& id);

 private:
  struct Slot {
    int expert = kNoExpert;       // as of the last plan taken
    int complete = kNoExpert;     // whose weights are here whole, now
    CopyId incoming{-1, 0};       // the copy that fills it; complete when that is done
    std::int64_t last_user = -1;  // serial of the last target taken that works in it
    CopyId last_reader{-1, 0};    // the last outgoing copy that reads it
  };
  struct Layer {
    std::vector<Slot> slots;  // regular slots, then staging
  };
  struct Pending {
    PlanPtr plan;
    Nanos taken_ns = 0;
    bool posted = false;
    std::vector<int> slots;  // it works in, by share
    std::int64_t copies_awaited = 0;
    Nanos copy_end_ns = -1;  // last awaited copy, -1 = none
    Nanos slot_wait_ns = 0;
    Nanos free_ns = -1;  // t_free, -1 = not yet
    bool arrived = false;
  };
  struct Transfer {
    Copy copy;
    int layer = 0;
    Nanos taken_ns = 0;
    bool released = false;
    std::int64_t wait_user = -1;           // receiving: target that must finish first, since it works in the slot
    CopyId wait_copy{-1, 0};               // receiving: the last copy out of the slot; sending: the copy that fills it
    std::vector<std::int64_t> awaited_by;  // serials of queued targets that wait for it
  };

  void post_copies(Nanos now, Pending& pending);
  void post(Nanos now, const CopyId& id, const Copy& copy, int layer_index);
  void bind_uses(Pending& pending);
  void release_ready(Nanos now);
  bool can_release(const Transfer& transfer, bool receives) const;
  void start_next(Nanos now);
  static int find_slot(const Layer& layer, int expert);         // kNoSlot: it is not here
  static int slot_index(const Layer& layer, const Copy& copy);  // that it fills
  Slot& slot_of(const Transfer& transfer);                      // that it fills

  int index_;
  bool overlap_;
  Actions& actions_;
  std::map<int, Layer> layers_;
  std::deque<Pending> queue_;  // plans taken, not finished; bounded by the plan ring
  std::set<Target> early_rows_;
  std::map<CopyId, Transfer> incoming_, outgoing_;  // posted and not done
  std::int64_t finished_serial_ = -1;
  std::int64_t taken_serial_ = -1;
  bool running_ = false;
  Nanos started_ns_ = 0;
};

}  // namespace afore::pipeline
