#include "common/progress.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>

#include "common/messages.h"
#include "report/ticks.h"

namespace afore::cli {

namespace {

constexpr double kFirstSecond = 1, kBetween_s = 0.25, kLooks_s = 0.05;

bool g_taken = false;  // a Progress is alive that shows
bool g_line_stands = false;

void put(const std::string& text) {
  [[maybe_unused]] const auto put = ::write(STDERR_FILENO, text.data(), text.size());
}

// A lock of the process on the terminal itself: the tools of a pipe share it, and each sees whether another one holds
// it.
struct flock terminal_lock(short type) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_len = 1;
  return lock;
}

// Where a terminal cannot be locked, everybody shows.
bool take_terminal() {
  struct flock lock = terminal_lock(F_WRLCK);
  return fcntl(STDERR_FILENO, F_SETLK, &lock) == 0 || (errno != EAGAIN && errno != EACCES);
}

void leave_terminal() {
  struct flock lock = terminal_lock(F_UNLCK);
  fcntl(STDERR_FILENO, F_SETLK, &lock);
}

bool another_has_terminal() {
  struct flock lock = terminal_lock(F_WRLCK);
  return isatty(STDERR_FILENO) == 1 && fcntl(STDERR_FILENO, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

std::string clock_text(double seconds) {
  const auto s = static_cast<std::int64_t>(std::min(std::ceil(seconds), 359'999.0));
  if (s < 3600) return fmt::format("{}:{:02}", s / 60, s % 60);
  return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
}

}  // namespace

std::string progress_text(std::int64_t done, const char* unit, double elapsed_s, double part, const std::string& note) {
  const double rate = static_cast<double>(done) / elapsed_s;
  std::string text = fmt::format("{} {}, ", report::grouped(done), unit);
  text += rate < 10 ? fmt::format("{:.1f}/s", rate) : report::grouped(std::llround(rate)) + "/s";
  if (!note.empty()) text += ", " + note;
  if (part < 0) return text;
  text += fmt::format(", {:.0f} %", 100 * std::min(part, 1.0));
  if (part > 0) text += ", " + clock_text(elapsed_s * (1 / std::min(part, 1.0) - 1)) + " left";
  return text;
}

void erase_progress() {
  if (!g_line_stands && !another_has_terminal()) return;
  put("\r\033[K");
  g_line_stands = false;
}

Progress::Progress(const char* unit, std::int64_t total, Output output) : unit_(unit), total_(total) {
  if (g_taken || quiet() || isatty(STDERR_FILENO) != 1) return;
  if (output == Output::streams && isatty(STDOUT_FILENO) == 1) return;
  g_taken = true;
  next_look_ = 1;
  start_ = shown_ = std::chrono::steady_clock::now();
}

void Progress::look() {
  const auto now = std::chrono::steady_clock::now();
  const auto seconds = [&](auto since) { return std::chrono::duration<double>(now - since).count(); };
  const double elapsed_s = seconds(start_);
  // The next look is where the rate so far puts it, but never more than as much again: work may slow down.
  const double rate = static_cast<double>(done_) / std::max(elapsed_s, 1e-6);
  next_look_ =
      done_ + std::clamp<std::int64_t>(static_cast<std::int64_t>(rate * kLooks_s), 1, std::max<std::int64_t>(done_, 1));
  if (elapsed_s < kFirstSecond || seconds(shown_) < kBetween_s || !take_terminal()) return;
  shown_ = now;
  show(elapsed_s);
}

void Progress::show(double elapsed_s) {
  double part = -1;
  if (part_total_ > 0) part = static_cast<double>(part_done_) / static_cast<double>(part_total_);
  else if (total_ > 0) part = static_cast<double>(done_) / static_cast<double>(total_);
  put(fmt::format("\r{}: {}\033[K", tool_name(), progress_text(done_, unit_, elapsed_s, part, note)));
  g_line_stands = true;
}

void Progress::finish() {
  if (next_look_ == kNever) return;
  next_look_ = kNever;
  g_taken = false;
  if (g_line_stands) erase_progress();
  leave_terminal();
}

}  // namespace afore::cli
