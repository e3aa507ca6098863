#include "util/line_io.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>
#include <zstd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "util/error.h"

namespace afore {
namespace {

template <class Act>
std::string error_of(Act&& act, ErrorKind kind) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    return error.hint().empty() ? error.what() : error.what() + (" | " + error.hint());
  }
  return "no error";
}

// A file of the test's own, removed at its end.
class TempFile {
 public:
  explicit TempFile(const std::string& bytes) {
    std::string name = (std::filesystem::temp_directory_path() / "afore_line_io_XXXXXX").string();
    const int descriptor = ::mkstemp(name.data());
    EXPECT_GE(descriptor, 0);
    ::close(descriptor);
    path_ = name;
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TempFile() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }
  std::string content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

 private:
  std::string path_;
};

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    close_writer();
    ::close(ends[0]);
  }
  void send(std::string_view text) { EXPECT_EQ(::write(ends[1], text.data(), text.size()), ssize_t(text.size())); }
  void close_writer() {
    if (ends[1] >= 0) ::close(ends[1]);
    ends[1] = -1;
  }
  std::string path() const { return "/dev/fd/" + std::to_string(ends[0]); }
  int ends[2];
};

std::string zstd_frame(const std::string& text) {
  std::string out(ZSTD_compressBound(text.size()), '\0');
  const std::size_t size = ZSTD_compress(out.data(), out.size(), text.data(), text.size(), 3);
  EXPECT_FALSE(ZSTD_isError(size));
  out.resize(size);
  return out;
}

std::vector<std::string> all_lines(const std::string& path) {
  LineReader reader(path);
  std::vector<std::string> lines;
  for (std::string_view line; reader.next(line);) {
    lines.emplace_back(line);
    EXPECT_EQ(reader.line_number(), static_cast<std::int64_t>(lines.size()));
  }
  return lines;
}

using Lines = std::vector<std::string>;

TEST(LineReader, Lines) {
  EXPECT_EQ(all_lines(TempFile("a\n\nbc\r\n").path()), (Lines{"a", "", "bc\r"}));
  EXPECT_EQ(all_lines(TempFile("").path()), Lines{});
  EXPECT_EQ(all_lines(TempFile("(\n").path()), Lines{"("});  // the first byte of the zstd magic
}

TEST(LineReader, ACutOffLastLineIsReportedAfterTheWholeOnes) {
  for (const std::string text : {"a\nb", "\x28\xB5\x2F", "P*M"}) {
    const TempFile file(text);
    LineReader reader(file.path());
    const bool has_whole = text[0] == 'a';
    std::string_view line;
    if (has_whole) {
      EXPECT_TRUE(reader.next(line));
    }
    EXPECT_EQ(error_of([&] { reader.next(line); }, ErrorKind::data),
              file.path() + (has_whole ? ":2" : ":1") +
                  ": the last line is cut off | it has no newline at its end; was the writer stopped?");
  }
}

TEST(LineReader, ALastLineWithoutItsEndIsALineWhereThatIsAskedFor) {
  const TempFile file("a\nb");
  LineReader reader(file.path());
  reader.take_unended();
  Lines lines;
  for (std::string_view line; reader.next(line);) lines.emplace_back(line);
  EXPECT_EQ(lines, (Lines{"a", "b"}));
  EXPECT_EQ(reader.line_number(), 2);
}

TEST(LineReader, LinesOfEverySizeAroundTheBuffer) {
  std::string text;
  Lines expected;
  for (const std::size_t size : {0, 1, 65534, 65535, 65536, 65537, 131072, 3, 300000, 0}) {
    expected.emplace_back(size, static_cast<char>('a' + expected.size()));
    text += expected.back() + "\n";
  }
  EXPECT_EQ(all_lines(TempFile(text).path()), expected);
  EXPECT_EQ(all_lines(TempFile(zstd_frame(text)).path()), expected);
}

TEST(LineReader, LongestLine) {
  EXPECT_EQ(all_lines(TempFile(std::string(kMaxLineBytes, 'x') + "\ny\n").path())[1], "y");
  for (const char* end : {"\n", "", "xxxxxxxxx\n"}) {
    const TempFile file("a\n" + std::string(kMaxLineBytes + 1, 'x') + end);
    EXPECT_EQ(error_of([&] { all_lines(file.path()); }, ErrorKind::data),
              file.path() + ":2: the line is longer than 16 MiB | records are one JSON object per line");
  }
}

TEST(LineReader, ZstdWithManyFramesAndSkippableOnes) {
  const std::string skippable("\x5A\x2A\x4D\x18\x02\x00\x00\x00hi", 10);
  const TempFile file(skippable + zstd_frame("a\nb") + zstd_frame("c\n") + skippable + zstd_frame("") +
                      zstd_frame("d\n"));
  EXPECT_EQ(all_lines(file.path()), (Lines{"a", "bc", "d"}));
}

TEST(LineReader, ZstdCutAtEveryByteNeverInventsALine) {
  std::string text;
  for (int i = 0; i < 50; ++i) text += "line " + std::to_string(i * i) + "\n";
  const std::string first = zstd_frame(text), whole = first + zstd_frame("last\n");
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const TempFile file(whole.substr(0, size));
    LineReader reader(file.path());
    std::string seen;
    const std::string error = error_of(
        [&] {
          for (std::string_view line; reader.next(line);) (seen += line) += '\n';
        },
        ErrorKind::data);
    EXPECT_EQ(text.substr(0, seen.size()), seen);
    EXPECT_EQ(error == "no error", size == first.size()) << size << " " << error;
  }
}

TEST(LineReader, DamagedZstd) {
  const TempFile file(zstd_frame("a\n") + "garbage");
  EXPECT_EQ(error_of([&] { all_lines(file.path()); }, ErrorKind::data),
            file.path() + ":2: the zstd data is damaged: Unknown frame descriptor");
  const TempFile cut(zstd_frame("a\nb\n").substr(0, 8));
  EXPECT_EQ(error_of([&] { all_lines(cut.path()); }, ErrorKind::data),
            cut.path() + ":1: the zstd data ends too early | the file is cut off");
}

TEST(LineReader, FilesThatCannotBeRead) {
  EXPECT_EQ(error_of([] { LineReader("/no/such/file"); }, ErrorKind::io),
            "cannot open /no/such/file: No such file or directory");
  EXPECT_EQ(error_of([] { all_lines("/"); }, ErrorKind::io), "cannot read /: Is a directory");
}

TEST(LineReader, TheHookRunsBeforeEveryReadAndOnlyWhenNoWholeLineWaits) {
  Pipe pipe;
  LineReader reader(pipe.path());
  int waits = 0;
  reader.on_wait([&] {
    if (++waits == 2) pipe.send("c\nd");
    if (waits == 3) pipe.send("e\n");
    if (waits == 4) pipe.close_writer();
  });
  pipe.send("a\nb\n");
  std::string_view line;
  Lines lines;
  std::vector<int> waits_at;
  while (reader.next(line)) {
    lines.emplace_back(line);
    waits_at.push_back(waits);
  }
  EXPECT_EQ(lines, (Lines{"a", "b", "c", "de"}));
  EXPECT_EQ(waits_at, (std::vector<int>{1, 1, 2, 3}));
  EXPECT_EQ(waits, 4);
}

StopFlag stop_signal{0};

TEST(LineReader, ASignalEndsABlockedRead) {
  struct sigaction action {};
  action.sa_handler = [](int number) { stop_signal = number; };
  ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
  Pipe pipe;
  LineReader reader(pipe.path());
  reader.stop_when(&stop_signal);
  pipe.send("a\n");
  std::string_view line;
  EXPECT_TRUE(reader.next(line));
  const pthread_t self = ::pthread_self();
  std::thread sender([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    ::pthread_kill(self, SIGUSR1);
  });
  EXPECT_EQ(error_of([&] { reader.next(line); }, ErrorKind::interrupted), "interrupted");
  sender.join();
  pipe.send("b\n");  // a later call ends as well, data or not
  EXPECT_EQ(error_of([&] { reader.next(line); }, ErrorKind::interrupted), "interrupted");
  stop_signal = 0;
  EXPECT_TRUE(reader.next(line));
}

TEST(LineReader, OtherSignalsDoNotEndARead) {
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGUSR2, &action, nullptr), 0);
  Pipe pipe;
  LineReader reader(pipe.path());
  const pthread_t self = ::pthread_self();
  std::thread sender([&] {
    for (int i = 0; i < 3; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      ::pthread_kill(self, SIGUSR2);
    }
    pipe.send("a\n");
  });
  std::string_view line;
  EXPECT_TRUE(reader.next(line));
  sender.join();
}

TEST(ByteWriter, FilesAndSizesAroundTheBuffer) {
  const TempFile file("old content");
  std::string expected;
  ByteWriter writer(file.path());
  for (const std::size_t size : {1, 262143, 1, 262144, 5, 600000, 0, 3}) {
    const std::string part(size, static_cast<char>('a' + expected.size() % 26));
    writer.write_line(part);
    expected += part + "\n";
  }
  writer.flush();
  EXPECT_EQ(file.content(), expected);
  writer.finish();
  writer.finish();
  EXPECT_EQ(file.content(), expected);
}

TEST(ByteWriter, ShortWritesIntoAPipe) {
  Pipe pipe;
  ::fcntl(pipe.ends[1], F_SETFL, O_NONBLOCK);  // also "try again" instead of waiting
  std::string got;
  std::thread reader([&] {
    char part[4096];
    for (ssize_t n; (n = ::read(pipe.ends[0], part, sizeof part)) > 0;) got.append(part, static_cast<std::size_t>(n));
  });
  std::string sent;
  for (int i = 0; i < 200'000; ++i) sent += std::to_string(i) + "\n";
  {
    ByteWriter writer("/dev/fd/" + std::to_string(pipe.ends[1]));
    writer.write(sent);
    writer.finish();
  }
  pipe.close_writer();
  reader.join();
  EXPECT_TRUE(got == sent);
}

TEST(ByteWriter, AFullDeviceIsAnError) {
  ByteWriter writer("/dev/full");
  writer.write_line("x");
  EXPECT_EQ(error_of([&] { writer.finish(); }, ErrorKind::io), "cannot write to /dev/full: No space left on device");
  ByteWriter large("/dev/full");
  EXPECT_EQ(error_of([&] { large.write(std::string(1 << 20, 'x')); }, ErrorKind::io),
            "cannot write to /dev/full: No space left on device");
}

TEST(ByteWriter, StandardOutputIsNamed) {
  const int saved = ::dup(STDOUT_FILENO), full = ::open("/dev/full", O_WRONLY);
  ::dup2(full, STDOUT_FILENO);
  ByteWriter writer("-");
  writer.write_line("x");
  const std::string error = error_of([&] { writer.flush(); }, ErrorKind::io);
  ::dup2(saved, STDOUT_FILENO);
  ::close(saved);
  ::close(full);
  EXPECT_EQ(error, "cannot write to stdout: No space left on device");
}

TEST(ByteWriter, FoldersThatDoNotExist) {
  EXPECT_EQ(error_of([] { ByteWriter("/no/such/file"); }, ErrorKind::io),
            "cannot write to /no/such/file: No such file or directory");
}

TEST(ReadFileBytes, PlainAndCompressedUnderALimit) {
  std::string text(200'000, 'x');
  text += "end";
  for (const std::string& bytes : {text, zstd_frame(text)}) {
    const TempFile file(bytes);
    const std::vector<std::uint8_t> got = read_file_bytes(file.path(), text.size());
    EXPECT_EQ(std::string(got.begin(), got.end()), text);
    EXPECT_EQ(error_of([&] { read_file_bytes(file.path(), text.size() - 1); }, ErrorKind::data),
              file.path() + ": more than 200002 bytes");
  }
  EXPECT_TRUE(read_file_bytes(TempFile("").path(), 10).empty());
  const TempFile cut(zstd_frame(text).substr(0, 12));
  EXPECT_EQ(error_of([&] { read_file_bytes(cut.path(), 1 << 20); }, ErrorKind::data),
            cut.path() + ": the zstd data ends too early | the file is cut off");
}

}  // namespace
}  // namespace afore
