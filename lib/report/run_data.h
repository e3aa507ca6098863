#pragma once
// What the pictures of one run need, collected record by record: O(layers x experts + steps + samples) memory.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/placement.h"
#include "core/records.h"
#include "report/cdf.h"
#include "report/heatmap.h"
#include "report/over_time.h"
#include "report/step_times.h"
#include "report/timeline.h"
#include "report/worker_load.h"

namespace afore::report {

struct RunOptions {
  std::set<int> layers;              // only these; empty = all
  std::optional<std::int64_t> step;  // of the timeline
  std::int64_t workers = kAbsent;    // FFN workers, where no header says it
  bool timeline = true;              // false: operations count for latencies alone
};

class RunData {
 public:
  explicit RunData(RunOptions options = {}) : options_(std::move(options)), picker_(options_.step) {}

  // In the order of a stream. Targets of warm-up count nowhere. Error{data} where loads sum to over 2^60.
  void add(const Header& header);
  void add(const Batch& batch) { steps_.add(batch); }
  void add(const Demand& demand);
  void add(const PlacementRecord& placement);  // a layer's first one says what its primaries are
  void add(const Plan& plan);
  void add(const Operation& operation);
  void add(const SequenceRecord& sequence);  // of requests that nobody has served yet
  void add(const Completion& completion);
  void add(const Summary& summary) { summaries.push_back(summary); }
  void see(const Record& record);  // any of them; others count nowhere
  void finish();                   // before anything below is read

  std::optional<Header> header;
  std::vector<Summary> summaries;
  ExpertLoads expert_loads;
  WorkerLoad load;
  std::vector<StepSums> before, planned;  // by step; on the layers' first maps, and as planned
  Timeline timeline;                      // step -1: none
  Distribution ttft, tpot, itl, step_length;
  std::int64_t targets = 0, warmup_targets = 0, plans = 0;
  std::int64_t unwanted = 0;  // targets, and assignments of sequences, of layers that the options leave out
  bool any_operations() const { return picker_.any(); }

 private:
  struct Layer {
    std::vector<int> primaries;  // worker by expert
    bool said = false;           // by a placement record
  };
  int workers() const;
  bool wanted(int layer) const { return options_.layers.empty() || options_.layers.contains(layer); }
  Layer& layer_of(int index, std::size_t experts);
  void settle_held();

  RunOptions options_;
  TimelinePicker picker_;
  StepTimes steps_;
  std::map<int, Layer> layers_;
  std::map<std::int64_t, StepSums> before_, planned_;  // by step, in whatever order they come
  std::set<Target> unplanned_;                         // measured targets whose plan may still come
  std::optional<Target> held_;                         // a demand whose layer's first map may come right behind it
  std::vector<std::int64_t> held_counts_;
  std::int64_t last_warmup_step_ = -1;
  std::vector<std::int64_t> loads_;
  double imbalance_before_ = 0, imbalance_after_ = 0;
  std::int64_t loaded_before_ = 0, loaded_after_ = 0;
};

}  // namespace afore::report
