// Logs whose writing fails: what is kept, and what is said.
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <deque>

#include "log_test_util.h"
#include "util/log/log_file.h"

// What the next calls of this program say, an errno each; 0 lets one through. Behind the last, all go through.
static std::deque<int> sync_says, lock_says, write_says, close_says;
constexpr int kNothingWritten = -1;  // write(2) returns 0

static int take(std::deque<int>& says) {
  if (says.empty()) return 0;
  const int said = says.front();
  says.pop_front();
  return said;
}

extern "C" int fdatasync(int file) {
  errno = take(sync_says);
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_fdatasync, file));
}

extern "C" int flock(int file, int operation) noexcept {
  errno = take(lock_says);
  return errno != 0 ? -1 : static_cast<int>(::syscall(SYS_flock, file, operation));
}

extern "C" int close(int file) {
  const int result = static_cast<int>(::syscall(SYS_close, file));
  errno = take(close_says);
  return errno != 0 ? -1 : result;
}

extern "C" ssize_t write(int file, const void* bytes, std::size_t size) {
  const int said = take(write_says);
  if (said == kNothingWritten) return 0;
  errno = said;
  return said != 0 ? -1 : ::syscall(SYS_write, file, bytes, size);
}

namespace afore {
namespace {

using namespace log_test;

// No file of this process grows beyond `bytes` meanwhile: write(2) fails with EFBIG.
class FileLimit {
 public:
  explicit FileLimit(std::int64_t bytes) : signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limit{static_cast<rlim_t>(bytes), before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, signal_);
  }

 private:
  void (*signal_)(int);
  rlimit before_{};
};

Error failure_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const Error& error) {
    return error;
  }
  return {ErrorKind::internal, "no failure"};
}

TEST(LogFailure, SaysWhatIsKeptAndFailsFromThenOn) {
  const Scratch scratch;
  const std::string path = scratch.file("x.afl");
  const Lines lines = noise_lines(40, 1000);
  LogWriter writer(path, {.fsync = Fsync::none});
  {
    const FileLimit limit(50'000);
    const auto write_all = [&] {
      for (const std::string& line : lines) writer.write_line(line);
      for (const std::string& line : lines) writer.write_line(line);
    };
    const Error first = failure_of(write_all), again = failure_of(write_all);
    EXPECT_EQ(first.kind(), ErrorKind::io);
    EXPECT_EQ(std::string(first.what()), "cannot write to " + path + ": File too large");
    EXPECT_EQ(first.hint().find(path + " keeps 33 lines ("), 0U) << first.hint();
    EXPECT_EQ(std::string(again.what()), first.what());
    EXPECT_EQ(again.hint(), first.hint());
    EXPECT_EQ(std::string(failure_of([&] { writer.flush(); }).what()), first.what());
  }
  EXPECT_EQ(writer.lines(), 33 + 32);  // those of the frame that could not be written were taken
  writer.finish();                     // does nothing
  const Reading reading = read(bytes_of(path), Recover::tail);
  EXPECT_TRUE(reading.lines == prefix(lines, 33));
  EXPECT_FALSE(reading.report.ended);
  EXPECT_EQ(reading.report.tail_bytes, 0);  // cut back to its last whole frame
}

TEST(LogFile, InterruptedCallsGoOn) {
  const Scratch scratch;
  lock_says = {EINTR, EWOULDBLOCK, EWOULDBLOCK};
  LogFile file(scratch.file("x.afl"));
  write_says = {EINTR, EINTR};
  file.append("whole");
  sync_says = {EINTR};
  file.sync();
  EXPECT_TRUE(lock_says.empty() && write_says.empty() && sync_says.empty());
  close_says = {EINTR};
  file.close();
  file.close();  // a second time does nothing
  EXPECT_TRUE(close_says.empty());
  EXPECT_EQ(bytes_of(scratch.file("x.afl")), "whole");
}

TEST(LogFile, AFileSystemWithoutLocksOrSyncsMustDo) {
  const Scratch scratch;
  lock_says = {ENOLCK};
  LogFile file(scratch.file("x.afl"));
  for (const int without : {EINVAL, EROFS}) {
    sync_says = {without};
    file.sync();
  }
  EXPECT_TRUE(lock_says.empty() && sync_says.empty());
}

TEST(LogFile, FailuresAreNamed) {
  const Scratch scratch;
  const std::string path = scratch.file("x.afl");
  LogFile file(path);
  file.append("kept");
  sync_says = {EIO};
  EXPECT_EQ(std::string(failure_of([&] { file.sync(); }).what()), path + ": Input/output error");
  write_says = {EIO};
  EXPECT_EQ(std::string(failure_of([&] { file.append("lost"); }).what()), path + ": Input/output error");
  write_says = {kNothingWritten};
  EXPECT_EQ(std::string(failure_of([&] { file.append("lost"); }).what()), path + ": No space left on device");
  EXPECT_EQ(file.size(), 4);
  EXPECT_EQ(bytes_of(path), "kept");
  close_says = {EIO};
  EXPECT_EQ(std::string(failure_of([&] { file.close(); }).what()), path + ": Input/output error");
  file.remove();
  file.remove();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(LogFile, ALockThatSomebodyKeeps) {
  const Scratch scratch;
  lock_says.assign(100, EWOULDBLOCK);
  const Error error = failure_of([&] { LogFile(scratch.file("x.afl")); });
  lock_says.clear();
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(std::string(error.what()), scratch.file("x.afl") + ": another process holds the lock of the new log");
}

TEST(LogFailure, AFolderThatIsNotThere) {
  const Scratch scratch;
  const Error error = failure_of([&] { LogWriter(scratch.file("no/x.afl"), {}); });
  EXPECT_EQ(error.kind(), ErrorKind::io);
  EXPECT_EQ(std::string(error.what()), scratch.file("no/x.afl") + ": No such file or directory");
}

TEST(LogFailure, ASegmentThatCannotBeBegun) {
  const Scratch scratch;
  write_bytes(scratch.file("x.1.afl"), "not ours");
  LogWriter writer(scratch.file("x.afl"), {.fsync = Fsync::none, .roll_bytes = 40'000});
  const Lines lines = noise_lines(100, 1000);
  const Error error = failure_of([&] {
    for (const std::string& line : lines) writer.write_line(line);
  });
  EXPECT_EQ(std::string(error.what()), scratch.file("x.1.afl") + ": the file exists and was not touched");
  EXPECT_EQ(bytes_of(scratch.file("x.1.afl")), "not ours");
  EXPECT_FALSE(read(bytes_of(scratch.file("x.afl")), Recover::tail).report.ended);
}

// The first line is nearly as long as the limit, so that the next segment's two copies of it do not fit.
TEST(LogFailure, ASegmentThatFailsIsTakenAway) {
  const Scratch scratch;
  LogWriter writer(scratch.file("x.afl"), {.fsync = Fsync::none, .roll_bytes = 1'000});
  const Lines lines = noise_lines(100, 1000);
  writer.write_line(noise_lines(1, 30'000)[0]);
  const FileLimit limit(110'000);
  const Error error = failure_of([&] {
    for (int i = 0; i < 60; ++i) writer.write_line(lines[i]);
    const FileLimit less(20'000);
    for (int i = 60; i < 100; ++i) writer.write_line(lines[i]);
  });
  EXPECT_NE(std::string(error.what()).find("File too large"), std::string::npos) << error.what();
  std::size_t segments = 0;
  while (std::filesystem::exists(segment_path(scratch.file("x.afl"), static_cast<std::int64_t>(segments)))) ++segments;
  const Reading last =
      read(bytes_of(segment_path(scratch.file("x.afl"), static_cast<std::int64_t>(segments) - 1)), Recover::tail);
  EXPECT_EQ(last.error, "");
  EXPECT_FALSE(last.report.ended);
}

TEST(LogWriter, SyncingChangesNoByte) {
  const Scratch scratch;
  const Lines lines = noise_lines(120, 1000);
  std::vector<std::string> logs;
  for (const Fsync fsync : {Fsync::none, Fsync::interval, Fsync::frame}) {
    const std::string name = scratch.file(std::to_string(static_cast<int>(fsync)) + ".afl");
    LogWriter writer(name, {.fsync = fsync, .roll_bytes = 100'000});
    for (const std::string& line : lines) writer.write_line(line);
    EXPECT_EQ(writer.lines(), 120);
    writer.finish();
    logs.push_back(bytes_of(name) + bytes_of(segment_path(name, 1)));
  }
  EXPECT_EQ(logs[0], logs[1]);
  EXPECT_EQ(logs[0], logs[2]);
}

TEST(LogWriter, IntervalsAreASecond) {
  const Scratch scratch;
  LogWriter writer(scratch.file("x.afl"), {.fsync = Fsync::interval});
  sync_says = {EIO};
  writer.write_line("first");
  writer.write_line("soon");
  writer.flush();
  EXPECT_EQ(sync_says.size(), 1U);
  ::usleep(1'050'000);
  writer.write_line("later");
  EXPECT_EQ(std::string(failure_of([&] { writer.flush(); }).what()), scratch.file("x.afl") + ": Input/output error");
  EXPECT_TRUE(sync_says.empty());
}

TEST(LogWriter, ASegmentHasAtLeastOneFrame) {
  const Scratch scratch;
  const std::string path = scratch.file("x.afl");
  const Lines lines = {"first", std::string(40'000, 'x'), std::string(40'000, 'y'), "last"};
  LogWriter writer(path, {.fsync = Fsync::none, .roll_bytes = 1});
  for (const std::string& line : lines) writer.write_line(line);
  writer.finish();
  writer.finish();  // a second time does nothing
  EXPECT_TRUE(read(bytes_of(path) + bytes_of(segment_path(path, 1)), Recover::strict).lines == lines);
  EXPECT_FALSE(std::filesystem::exists(segment_path(path, 2)));
}

}  // namespace
}  // namespace afore
