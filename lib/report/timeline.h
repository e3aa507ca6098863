#pragma once
// Operation records, kept small: those of one step and of its neighbours, picked while the stream goes by.
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "core/records.h"

namespace afore::report {

enum class Lane : std::uint8_t { compute, copy, a2f, f2a };
enum class Work : std::uint8_t { attention, sampling, expert_ffn, copy, link, other };

struct Slice {
  Nanos start_ns = 0, end_ns = 0;
  std::int64_t step = 0;
  int layer = 0, microbatch = 0, worker = 0;
  char pool = 'A';  // A, F
  Lane lane = Lane::compute;
  Work work = Work::other;
};

// nullopt for a worker or a lane that this version does not know.
std::optional<Slice> slice_of(const Operation& operation);

struct Timeline {
  std::int64_t step = -1;                      // that it is about; slices of its neighbours are there too
  Nanos from_ns = 0, to_ns = 0;                // of the step
  int attention_workers = 0, ffn_workers = 0;  // that did anything in the stream
  std::vector<Slice> slices;                   // by start
};

// With a step: that one. Else, of the steps after warm-up, the one with most copies, the first of equals. Holds at most
// eight steps of 2^18 copies and 2^18 other slices each; of larger steps every second, fourth ... worker.
class TimelinePicker {
 public:
  explicit TimelinePicker(std::optional<std::int64_t> step = std::nullopt) : wanted_(step) {}

  void add(const Slice& slice);
  void warm_until(std::int64_t step) { last_warmup_ = std::max(last_warmup_, step); }
  bool any() const { return any_; }
  Timeline finish();  // step -1: there is no such step

 private:
  struct Step {
    std::vector<Slice> slices;
    int stride = 1;
    bool full = false;  // thinning frees nothing any more
    std::int64_t copies = 0;
  };
  void thin(Step& step) const;
  void keep(Step& step, const Slice& slice) const;
  void judge(std::int64_t step);
  void settle(std::int64_t newest);

  std::optional<std::int64_t> wanted_;
  std::int64_t last_warmup_ = -1, newest_ = -1, judged_ = -1;
  bool any_ = false;
  int attention_workers_ = 0, ffn_workers_ = 0;
  std::map<std::int64_t, Step> recent_;
  std::int64_t best_step_ = -1, best_copies_ = -1;
  bool best_measured_ = false;
  std::map<std::int64_t, Step> best_;  // the step and its neighbours
};

}  // namespace afore::report
