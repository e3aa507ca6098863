#pragma once
// What reading a log found, and what a reader is to do about damage.
#include <cstdint>
#include <string>

namespace afore {

enum class Recover {
  strict,  // any damage and a missing end marker are errors, after the verified lines before them
  tail,    // an unfinished end is left out; damage with a good frame behind it is an error
  skip,    // damaged parts are left out
};

struct LogReport {
  int version = 0;  // 0: the file head could not be read
  std::int64_t segment = 0;
  std::int64_t frames = 0;           // verified ones, of all types
  std::int64_t lines = 0;            // handed out
  std::int64_t next_line = 0;        // number of the line that would follow
  std::int64_t first_line = 0;       // lines of the log in segments before the first one read
  std::int64_t raw_bytes = 0;        // of the lines handed out
  std::int64_t stored_bytes = 0;     // read from the file
  std::int64_t damaged_parts = 0;    // with a good frame behind them
  std::int64_t tail_bytes = 0;       // behind the last good frame
  std::int64_t lost_bytes = 0;       // of the file, left out in all
  std::int64_t lost_lines = 0;       // exact up to the last good frame, as far as frame heads say behind it
  std::int64_t repeated_frames = 0;  // good frames that came again or late
  std::int64_t ignored_frames = 0;   // of types this version does not know and need not
  bool has_head = false;             // the first line handed out is the log's first one
  bool ended = false;                // the end marker was read last
  bool continued = false;            // and it says that another segment follows
  std::int64_t damage_at = -1;       // byte of the first damage, -1 = none
  std::int64_t damage_after = -1;    // sequence of the last good frame before it, -1 = none
  std::string damage;                // what is wrong there

  bool corrupt() const { return damaged_parts > 0 || (ended && tail_bytes > 0); }
  bool whole() const { return ended && !corrupt(); }
};

// One line about everything that is not as it should be, without the file's name; "" when nothing is.
std::string describe_losses(const LogReport& report);

// "the log is damaged at byte 4711, after frame 3: the checksum of a frame does not match"
std::string describe_damage(const std::string& what, std::int64_t at, std::int64_t after_frame);

}  // namespace afore
