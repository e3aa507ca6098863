#pragma once
// What the pipeline does, as records for whoever reads along, and the map of every layer as it stands. Readers join
// where a step begins, and no experts change places by staging buffers: they get the header and the maps first, and
// whole steps from there on. What clients said and were answered is not among the records.
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "core/placement.h"
#include "core/records.h"
#include "http/backend.h"
#include "pipeline/planner.h"

namespace afore::http {

class LiveRecords {
 public:
  explicit LiveRecords(const Header& header);

  // By the model's thread, in the order of the stream.
  void planned(const Batch* batch, const Demand& demand, const pipeline::PlannedTarget& planned);
  void observed(const Observed& observed);
  // The stream ends: readers are told, see Backend::LineSink.
  void end(const Summary& summary);

  // By any thread.
  void subscribe(Backend::LineSink sink);
  std::vector<PlacementRecord> placements() const;

 private:
  void put(const std::string& lines);
  void let_in(std::int64_t step);
  bool is_between() const;
  void set_map(const PlacementRecord& record);
  std::string beginning() const;

  const std::string header_;
  const int experts_, workers_;
  mutable std::mutex mutex_;
  std::map<int, LayerPlacement> maps_;
  std::vector<Backend::LineSink> readers_, waiting_;
  std::int64_t step_ = -1;  // of the last target
  int held_back_ = 0;       // steps, of those who wait
};

}  // namespace afore::http
