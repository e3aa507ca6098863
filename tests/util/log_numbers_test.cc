// Frames and segments whose numbers do not fit what stands before them, and what is told of it.
#include <utility>

#include "log_test_util.h"

namespace afore {
namespace {

using namespace log_test;

// Segments of one log, and what their heads may not say.
class Segments : public ::testing::Test {
 protected:
  Segments() {
    const std::string path = scratch_.file("x.afl");
    LogWriter writer(path, {.fsync = Fsync::none, .roll_bytes = 70'000});
    for (const std::string& line : lines_) writer.write_line(line);
    writer.finish();
    for (std::int64_t i = 0; std::filesystem::exists(segment_path(path, i)); ++i)
      segments_.push_back(bytes_of(segment_path(path, i)));
  }
  // The second segment, its head changed.
  std::string second(const std::function<void(FileHead&)>& change) const {
    FileHead head;
    EXPECT_EQ(decode(std::string_view(segments_[1]).substr(0, kFileHeadBytes), head), HeadVerdict::good);
    change(head);
    return encode(head) + segments_[1].substr(kFileHeadBytes);
  }

  const Scratch scratch_;
  const Lines lines_ = noise_lines(300, 1000);
  std::vector<std::string> segments_;
};

TEST_F(Segments, OnesThatAreMissingAreDamage) {
  ASSERT_GE(segments_.size(), 4U);
  const std::string missing = "a part of the log is missing before this segment";
  for (const std::string& later :
       {segments_[2], second([](FileHead& head) { ++head.segment; }), second([](FileHead& head) { ++head.first_line; }),
        second([](FileHead& head) { ++head.first_sequence; })}) {
    const Reading reading = read(segments_[0] + later, Recover::skip);
    EXPECT_EQ(reading.report.damage, missing);
    EXPECT_TRUE(reading.report.corrupt());
  }
  for (const std::string& other :
       {segments_[0], second([](FileHead& head) { --head.segment; }), second([](FileHead& head) { --head.first_line; }),
        second([](FileHead& head) { --head.first_sequence; })})
    EXPECT_NE(read(segments_[0] + other, Recover::skip).error.find("another log begins at byte"), std::string::npos);
}

TEST_F(Segments, WithoutItsFirstLineThatLineIsLost) {
  const std::vector<Frame> frames = frames_of(segments_[1]);
  const std::size_t heads = frames[2].at;
  const Reading reading = read(segments_[1].substr(0, kFileHeadBytes) + segments_[1].substr(heads), Recover::skip);
  const Reading whole = read(segments_[1], Recover::skip);
  EXPECT_EQ(reading.lines.size() + 1, whole.lines.size());
  EXPECT_EQ(reading.report.lost_lines, whole.report.lost_lines + 1);
}

TEST_F(Segments, WhatFollowsTheEndIsLeftOut) {
  const std::string log = make_log(text_lines(40));
  const std::size_t last = frames_of(log).back().at;
  const Reading garbage = read(log + std::string(100, 'g'), Recover::skip);
  EXPECT_TRUE(garbage.lines == text_lines(40));
  EXPECT_EQ(garbage.report.damage, "bytes follow the end marker");
  const Reading again = read(log + log.substr(last), Recover::skip);  // the end comes twice
  EXPECT_TRUE(again.lines == text_lines(40));
  EXPECT_EQ(again.report.repeated_frames, 1);
}

TEST(LogReader, TheEndStaysTheEnd) {
  std::string log = make_log(text_lines(3));
  LogReader reader([&](char* out, std::size_t capacity) { return std::exchange(log, "").copy(out, capacity); }, "log",
                   Recover::strict);
  std::string_view lines;
  while (reader.next(lines)) {
  }
  EXPECT_FALSE(reader.next(lines));
  EXPECT_TRUE(reader.report().whole());
}

// A frame behind the others, before the end.
Reading with_frame(FrameHead frame, std::string_view payload) {
  const std::string log = make_log(text_lines(40));
  const std::vector<Frame> frames = frames_of(log);
  FrameHead end = frames.back().head;
  frame.sequence = end.sequence++;
  frame.first_line = end.first_line;
  return read(log.substr(0, frames.back().at) + encode(frame, payload) + encode(end, ""), Recover::skip);
}

TEST(LogNumbers, FramesWithoutTextAreDamage) {
  FrameHead none;
  none.type = static_cast<std::uint8_t>(FrameType::lines);
  for (const std::uint8_t flags : {std::uint8_t{0}, kFirstPart, kLastPart}) {
    none.flags = flags;
    const Reading reading = with_frame(none, "");
    EXPECT_TRUE(reading.lines == text_lines(40));
    EXPECT_NE(reading.report.damage.find("its lines are not as its head says"), std::string::npos)
        << reading.report.damage;
  }
  FrameHead end;
  end.type = static_cast<std::uint8_t>(FrameType::end);
  EXPECT_NE(with_frame(end, "x").report.damage.find("an end marker that does not fit"), std::string::npos);
  end.flags = kFirstPart;
  EXPECT_NE(with_frame(end, "").report.damage.find("type 3 with flags 0x1 is not known"), std::string::npos);
}

// A log of two frames of lines, one of which is given other numbers.
std::string renumbered(std::size_t nth, std::int64_t first_line) {
  const std::string log = make_log(text_lines(40), {20});
  std::string out = log.substr(0, kFileHeadBytes);
  std::size_t at = 0;
  for (Frame& frame : frames_of(log)) {
    if (at++ == nth) frame.head.first_line = first_line;
    out += encode(frame.head, std::string_view(frame.bytes).substr(kFrameHeadBytes));
  }
  return out;
}

TEST(LogNumbers, LinesThatRunBackwardsAreLeftOut) {
  const Reading reading = read(renumbered(3, 5), Recover::skip);
  EXPECT_TRUE(reading.lines == prefix(text_lines(40), 21));
  EXPECT_TRUE(reading.report.corrupt());
  EXPECT_EQ(reading.report.lost_lines, 20);
  EXPECT_NE(reading.report.damage.find("its line numbers run backwards"), std::string::npos) << reading.report.damage;
}

TEST(LogNumbers, AnEndBeforeTheLastLineIsNone) {
  const Reading reading = read(renumbered(4, 7), Recover::tail);
  EXPECT_TRUE(reading.lines == text_lines(40));
  EXPECT_FALSE(reading.report.ended);
  EXPECT_NE(describe_losses(reading.report).find("no end marker"), std::string::npos);
}

TEST(LogNumbers, HeadsThatCountBeyondTheLimitAreDamaged) {
  FileHead head;
  EXPECT_EQ(decode(encode(head), head), HeadVerdict::good);
  for (std::int64_t FileHead::*number : {&FileHead::first_line, &FileHead::first_sequence}) {
    FileHead beyond;
    beyond.*number = static_cast<std::int64_t>(kMaxLogNumber);
    EXPECT_EQ(decode(encode(beyond), head), HeadVerdict::damaged);
  }
  FileHead none;
  none.version = 0;
  EXPECT_EQ(decode(encode(none), head), HeadVerdict::damaged);
  FileHead later;
  later.version = kLogVersion + 1;
  EXPECT_EQ(decode(encode(later), head), HeadVerdict::other_version);
  std::string bit = encode(FileHead{});
  bit[8] ^= 2;  // only the version's own byte is wrong
  EXPECT_EQ(decode(bit, head), HeadVerdict::damaged);

  FrameHead frame;
  frame.type = static_cast<std::uint8_t>(FrameType::end);
  EXPECT_TRUE(decode(encode(frame, ""), frame));
  for (std::int64_t FrameHead::*number : {&FrameHead::first_line, &FrameHead::sequence}) {
    FrameHead beyond = frame;
    beyond.*number = static_cast<std::int64_t>(kMaxLogNumber);
    EXPECT_FALSE(decode(encode(beyond, ""), frame));
  }
}

TEST(LogNumbers, ADamagedFileHeadLosesNoLine) {
  for (const std::size_t byte : {3, 4, 5, 20, 31}) {
    std::string log = make_log(text_lines(40));
    log[byte] ^= 1;
    const Reading reading = read(log, Recover::skip);
    EXPECT_TRUE(reading.lines == text_lines(40)) << byte;
    EXPECT_EQ(reading.report.damage, "no good file head stands here");
  }
}

// Frames of a log with one line in four parts, in another order or choice, numbered anew. Of the log: 0 and 1 are the
// first line's, 2 to 5 the parts, 6 a line, 7 the end.
Reading rearranged(const std::vector<std::size_t>& order, const std::function<void(FrameHead&, std::size_t)>& change) {
  const std::string log = make_log({"first", std::string(100'000, 'x'), "last"});
  const std::vector<Frame> frames = frames_of(log);
  EXPECT_EQ(frames.size(), 8U);
  std::string out = log.substr(0, kFileHeadBytes);
  std::int64_t sequence = 0;
  for (const std::size_t i : order) {
    FrameHead head = frames[i].head;
    head.sequence = sequence++;
    if (change) change(head, static_cast<std::size_t>(sequence - 1));
    out += encode(head, std::string_view(frames[i].bytes).substr(kFrameHeadBytes));
  }
  return read(out, Recover::skip);
}

TEST(LogNumbers, PartsOfALineThatDoNotFit) {
  const Lines without = {"first", "last"};
  EXPECT_EQ(rearranged({0, 1, 2, 3, 4, 5, 6, 7}, {}).lines.size(), 3U);
  const auto expect = [&](const Reading& reading, const std::string& wrong) {
    EXPECT_TRUE(reading.lines == without) << wrong;
    EXPECT_NE(reading.report.damage.find(wrong), std::string::npos) << reading.report.damage;
  };
  expect(rearranged({0, 1, 2, 2, 6, 7}, {}), "a line begins inside another one");
  expect(rearranged({0, 1, 3, 6, 7}, {}), "it holds part of a line whose beginning is missing");
  expect(rearranged({0, 1, 2, 3, 4, 6, 6, 7}, {}), "lines begin inside another line");
  expect(rearranged({0, 1, 2, 3, 6, 7}, [](FrameHead& head, std::size_t i) { head.first_line += i == 3; }),
         "it holds part of a line whose beginning is missing");
  const Reading open = rearranged({0, 1, 2, 3, 7}, [](FrameHead& head, std::size_t i) { head.first_line -= i == 4; });
  EXPECT_TRUE(open.lines == prefix(without, 1));
  EXPECT_FALSE(open.report.ended);
}

TEST(LogReport, SaysAllThatIsNotAsItShouldBe) {
  LogReport report;
  EXPECT_FALSE(report.whole());
  report.ended = true;
  EXPECT_TRUE(report.whole());
  report.tail_bytes = 1;
  EXPECT_TRUE(report.corrupt());
  report.tail_bytes = 0;
  EXPECT_EQ(describe_losses(report), "");
  report.continued = true;
  EXPECT_EQ(describe_losses(report), "the log goes on in its next segment, which was not read");
  report.ended = report.continued = false;
  const std::string stopped = "the log has no end marker, its writer was stopped or still writes";
  EXPECT_EQ(describe_losses(report), stopped);
  report.lost_bytes = 7, report.lost_lines = 1;
  EXPECT_EQ(describe_losses(report), stopped + "; 7 bytes and 1 line left out");
  report.damaged_parts = 1, report.damage = "it is", report.damage_at = 40;
  EXPECT_EQ(describe_losses(report),
            "the log is damaged at byte 40, before any frame: it is; it has no end marker "
            "either; 7 bytes and 1 line left out");
  report.damaged_parts = 2, report.damage_after = 3, report.ended = true;
  EXPECT_EQ(describe_losses(report),
            "the log is damaged at byte 40, after frame 3: it is (2 damaged parts in all); "
            "7 bytes and 1 line left out");
}

}  // namespace
}  // namespace afore
