// Logs as they should be, cut off, and rolled.
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "log_test_util.h"
#include "util/line_io.h"
#include "util/log/crc32c.h"
#include "util/log/log_file.h"

namespace afore {
namespace {

using namespace log_test;

TEST(Crc32c, KnownValuesByTableAndByInstruction) {
  // RFC 3720, appendix B.4
  std::string ascending, descending;
  for (int i = 0; i < 32; ++i) {
    ascending += static_cast<char>(i);
    descending += static_cast<char>(31 - i);
  }
  const std::vector<std::pair<std::string, std::uint32_t>> known = {{"", 0},
                                                                    {"123456789", 0xE3069283},
                                                                    {std::string(32, '\0'), 0x8A9136AA},
                                                                    {std::string(32, '\xFF'), 0x62A8AB43},
                                                                    {ascending, 0x46DD794E},
                                                                    {descending, 0x113FDB5C}};
  for (const auto& [bytes, sum] : known) {
    EXPECT_EQ(crc32c(bytes), sum);
    EXPECT_EQ(crc32c_table(bytes), sum);
  }
  const std::string noise = noise_lines(1, 1000)[0];
  for (std::size_t begin = 0; begin < 9; ++begin)
    for (std::size_t size = 0; size < 70; ++size) {
      const std::string_view part = std::string_view(noise).substr(begin, size);
      EXPECT_EQ(crc32c(part, 77), crc32c_table(part, 77));
      EXPECT_EQ(crc32c(part.substr(size / 3), crc32c(part.substr(0, size / 3))), crc32c(part));
    }
}

TEST(Log, LinesOfEverySizeComeBack) {
  Lines lines = {"first"};
  for (const std::size_t size : {0, 1, 32766, 32767, 32768, 32769, 3, 65535, 65536, 65537, 200000, 0, 0})
    lines.emplace_back(size, static_cast<char>('a' + lines.size()));
  for (Lines& all : std::vector<Lines>{lines, {}, {"only"}, {""}, {std::string(70000, 'h'), "x"}, Lines(40000, "")}) {
    const Reading reading = read(make_log(all), Recover::strict);
    EXPECT_EQ(reading.error, "");
    EXPECT_TRUE(reading.lines == all);
    EXPECT_TRUE(reading.report.whole());
    EXPECT_EQ(reading.report.lines, static_cast<std::int64_t>(all.size()));
    EXPECT_EQ(describe_losses(reading.report), "");
  }
}

TEST(Log, TheLongestLineAndNoLonger) {
  const Lines lines = {"first", std::string(kMaxLineBytes, 'x'), "last"};
  EXPECT_TRUE(read(make_log(lines), Recover::strict).lines == lines);
}

TEST(Log, FramesHoldAtMost32KiBAndNoHalfLines) {
  const std::string log = make_log(text_lines(2000));
  std::int64_t next = 1;
  const auto frames = frames_of(log);
  ASSERT_GT(frames.size(), 5u);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    EXPECT_EQ(frames[i].head.sequence, static_cast<std::int64_t>(i));
    EXPECT_LE(frames[i].head.raw_bytes, kMaxFrameRawBytes);
    if (!frames[i].head.is(FrameType::lines)) continue;
    EXPECT_EQ(frames[i].head.first_line, next);
    next += frames[i].head.lines;
    EXPECT_EQ(frames[i].head.flags, 0);
  }
  EXPECT_TRUE(frames[0].head.is(FrameType::head) && frames[1].head.is(FrameType::head));
  EXPECT_TRUE(frames.back().head.is(FrameType::end));
  EXPECT_EQ(next, 2001);
}

TEST(Log, CutAtEveryByteKeepsEveryWholeFrame) {
  Lines lines = text_lines(60);
  lines.insert(lines.begin() + 20, std::string(40000, 'y'));  // a line in two parts
  const std::string log = make_log(lines, {5, 12, 30});
  const auto frames = frames_of(log);
  for (std::size_t size = 0; size < log.size(); ++size) {
    std::size_t whole = 0, header_known = 0;
    for (const Frame& frame : frames) {
      const auto end = static_cast<std::size_t>(frame.head.first_line) + frame.head.lines;
      if (frame.at + frame.bytes.size() <= size) whole = std::max(whole, end);
      const bool part = frame.head.flags == kFirstPart || frame.head.flags == kMiddlePart;
      if (frame.at + kFrameHeadBytes <= size) header_known = std::max(header_known, end + part);
    }
    const std::string_view cut = std::string_view(log).substr(0, size);
    const Reading tail = read(cut, Recover::tail);
    ASSERT_EQ(tail.error, "") << size;
    ASSERT_TRUE(tail.lines == prefix(lines, whole)) << size << " " << tail.lines.size() << " " << whole;
    ASSERT_TRUE(!tail.report.ended && !tail.report.corrupt()) << size;
    ASSERT_EQ(tail.report.lost_lines, static_cast<std::int64_t>(header_known - whole)) << size;
    ASSERT_NE(describe_losses(tail.report), "");
    const Reading strict = read(cut, Recover::strict);
    ASSERT_NE(strict.error, "") << size;
    ASSERT_TRUE(strict.lines == tail.lines) << size;
  }
}

TEST(Log, BytesThatArriveOneByOne) {
  const Lines lines = text_lines(40);
  const std::string log = make_log(lines, {3, 9});
  std::size_t at = 0;
  Lines seen;
  std::vector<std::size_t> arrived;
  LogReader reader(
      [&](char* out, std::size_t) {
        if (at == log.size()) return std::size_t{0};
        *out = log[at++];
        return std::size_t{1};
      },
      "log", Recover::strict);
  for (std::string_view text; reader.next(text);) arrived.push_back(at);
  // Lines come out as soon as their frame's last byte is there.
  const auto frames = frames_of(log);
  ASSERT_EQ(arrived.size(), 4u);
  EXPECT_EQ(arrived[0], frames[0].at + frames[0].bytes.size());
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(arrived[i], frames[i + 1].at + frames[i + 1].bytes.size());
}

TEST(Log, RolledSegmentsReadAloneAndOneBehindTheOther) {
  const Scratch scratch;
  const Lines lines = text_lines(4000);
  {
    LogWriter writer(scratch.file("run.afl"), {.fsync = Fsync::none, .roll_bytes = 100 << 10});
    for (const std::string& line : lines) writer.write_line(line);
    writer.finish();
  }
  std::string all;
  Lines together;
  int segment = 0;
  for (std::string path; std::filesystem::exists(path = segment_path(scratch.file("run.afl"), segment)); ++segment) {
    const std::string bytes = bytes_of(path);
    EXPECT_LE(bytes.size(), 100u << 10);
    const Reading alone = read(bytes, Recover::strict);
    EXPECT_EQ(alone.error, "");
    EXPECT_EQ(alone.lines[0], lines[0]);
    EXPECT_EQ(alone.report.segment, segment);
    EXPECT_EQ(alone.report.first_line, static_cast<std::int64_t>(together.size()));
    together.insert(together.end(), alone.lines.begin() + (segment > 0), alone.lines.end());
    EXPECT_EQ(alone.report.next_line, static_cast<std::int64_t>(together.size()));
    all += bytes;
  }
  EXPECT_GE(segment, 3);
  EXPECT_TRUE(together == lines);
  const Reading joined = read(all, Recover::strict);
  EXPECT_EQ(joined.error, "");
  EXPECT_TRUE(joined.lines == lines);
  EXPECT_TRUE(joined.report.whole() && !joined.report.continued);
  // The first alone says that it is not all.
  const Reading first = read(bytes_of(scratch.file("run.afl")), Recover::tail);
  EXPECT_EQ(describe_losses(first.report), "the log goes on in its next segment, which was not read");
}

TEST(Log, SegmentsThatDoNotFollowAreNotJoined) {
  const std::string log = make_log(text_lines(10));
  // Under skip too: the second log's numbers are those of the first, so its frames would pass for missing ones.
  const std::string longer = make_log(text_lines(4000));
  for (const Recover recover : {Recover::strict, Recover::tail, Recover::skip}) {
    const Reading reading = read(log + longer, recover);
    EXPECT_EQ(reading.lines, text_lines(10));
    EXPECT_NE(reading.error.find("another log begins at byte"), std::string::npos) << reading.error;
  }
}

TEST(LogWriter, ExistingFilesAreRefusedAndTheLockIsHeld) {
  const Scratch scratch;
  const std::string path = scratch.file("a.afl");
  LogWriter writer(path, {.fsync = Fsync::none});
  const int descriptor = ::open(path.c_str(), O_RDONLY);
  EXPECT_TRUE(log_is_held(descriptor));
  writer.write_line("x");
  EXPECT_THROW(LogWriter(path, {}), Error);
  writer.finish();
  EXPECT_FALSE(log_is_held(descriptor));
  ::close(descriptor);
  EXPECT_EQ(read(bytes_of(path), Recover::strict).lines, Lines{"x"});
}

TEST(LogWriter, WhatWasFlushedIsThere) {
  const Scratch scratch;
  const Lines lines = text_lines(30);
  LogWriter writer(scratch.file("a.afl"), {.fsync = Fsync::frame});
  std::size_t flushed = 1;  // the first line goes out at once
  for (std::size_t i = 0; i < lines.size(); ++i) {
    writer.write_line(lines[i]);
    if (i % 7 == 6) {
      writer.flush();
      flushed = i + 1;
    }
    EXPECT_EQ(read(bytes_of(scratch.file("a.afl")), Recover::tail).lines, prefix(lines, flushed));
  }
}

TEST(LogWriter, SegmentNames) {
  EXPECT_EQ(segment_path("run.afl", 0), "run.afl");
  EXPECT_EQ(segment_path("run.afl", 2), "run.2.afl");
  EXPECT_EQ(segment_path("a.b/run", 1), "a.b/run.1");
  EXPECT_EQ(segment_path("run", 3), "run.3");
}

TEST(LineReader, LogsByTheirMagicAndByTheirName) {
  const Scratch scratch;
  const Lines lines = text_lines(500);
  const std::string log = make_log(lines);
  for (const std::string name : {"x.afl", "y.jsonl"}) {
    write_bytes(scratch.file(name), log);
    LineReader reader(scratch.file(name));
    Lines seen;
    for (std::string_view line; reader.next(line);) seen.emplace_back(line);
    EXPECT_TRUE(seen == lines);
    EXPECT_EQ(reader.line_number(), static_cast<std::int64_t>(lines.size()));
    ASSERT_NE(reader.log_report(), nullptr);
    EXPECT_TRUE(reader.log_report()->whole());
  }
  write_bytes(scratch.file("text.afl"), "{}\n");
  LineReader text(scratch.file("text.afl"));
  std::string_view line;
  EXPECT_TRUE(text.next(line));
  EXPECT_EQ(text.log_report(), nullptr);
  write_bytes(scratch.file("empty.afl"), "");
  LineReader empty(scratch.file("empty.afl"));
  EXPECT_FALSE(empty.next(line));
  EXPECT_FALSE(empty.log_report()->ended);
  write_bytes(scratch.file("noise.afl"), std::string(5000, '\0'));
  LineReader noise(scratch.file("noise.afl"));
  EXPECT_THROW(noise.next(line), Error);
}

}  // namespace
}  // namespace afore
