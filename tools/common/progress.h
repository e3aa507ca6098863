#pragma once
// One line on standard error about long work: how much, how fast, how long still. Shown only where standard error is a
// terminal, without -q, after the first second and at most four times a second; erased before any message and at the
// end. Of the tools of one pipe one at a time has the terminal's line, and of several Progress of one tool the first.
#include <chrono>
#include <cstdint>
#include <limits>
#include <string>

#include "core/model_spec.h"

namespace afore::cli {

// Takes the line away, if one stands there: ours, or that of another tool of the pipe.
void erase_progress();

class Progress {
 public:
  // What standard output gets meanwhile: where it is a terminal too, lines and progress would mix.
  enum class Output { streams, at_end };

  // `unit` is what add() counts, like "records", and outlives this. `total`: of them, kAbsent when nobody knows.
  Progress(const char* unit, std::int64_t total, Output output);
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // One addition and one comparison; the clock is read about twenty times a second.
  void add(std::int64_t units = 1) {
    if ((done_ += units) >= next_look_) look();
  }
  // The part done where units do not say: bytes of an input, say.
  void set_part(std::int64_t done, std::int64_t total) {
    part_done_ = done;
    part_total_ = total;
  }
  std::string note;  // behind the rate, like "31 tok/s"
  void finish();     // erases, and shows no more

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  void look();
  void show(double elapsed_s);

  const char* unit_;
  std::int64_t total_, done_ = 0, next_look_ = kNever, part_done_ = kAbsent, part_total_ = kAbsent;
  std::chrono::steady_clock::time_point start_, shown_;
};

// "1,234,567 records, 8,100/s, 43 %, 0:12 left"; `part` below 0: unknown.
std::string progress_text(std::int64_t done, const char* unit, double elapsed_s, double part, const std::string& note);

}  // namespace afore::cli
