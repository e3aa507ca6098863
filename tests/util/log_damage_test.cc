// Damaged logs: no altered and no repeated line, one flip loses one frame at most, every lost line is counted.
#include "log_test_util.h"

#ifndef AFORE_BIT_STRIDE
#define AFORE_BIT_STRIDE 1
#endif

namespace afore {
namespace {

using namespace log_test;

// Whether `seen` is `all` without some lines, and none of them out of order or twice. `all` has no equal lines.
bool is_subsequence(const Lines& seen, const Lines& all) {
  std::size_t at = 0;
  for (const std::string& line : seen) {
    while (at < all.size() && all[at] != line) ++at;
    if (at++ == all.size()) return false;
  }
  return true;
}

std::string with(std::string bytes, std::size_t at, std::string_view patch) {
  return bytes.replace(at, patch.size(), patch);
}

void expect_exact(const Reading& reading, const Lines& all, const std::string& what) {
  EXPECT_EQ(reading.error, "") << what;
  EXPECT_TRUE(is_subsequence(reading.lines, all)) << what;
  EXPECT_EQ(reading.report.lost_lines, static_cast<std::int64_t>(all.size() - reading.lines.size())) << what;
  EXPECT_EQ(reading.report.lines, static_cast<std::int64_t>(reading.lines.size())) << what;
}

TEST(LogDamage, EveryBitOfALogOf64KiB) {
  Lines lines = text_lines(40);
  for (const std::string& line : noise_lines(26, 900)) lines.push_back(line);
  lines.push_back(noise_lines(1, 40000)[0].substr(3));  // in two parts
  for (const std::string& line : text_lines(3, "plan")) lines.push_back(line);
  std::string log = make_log(lines, {10, 41, 50});
  ASSERT_GE(log.size(), 64u << 10);
  std::size_t longest = 0;
  for (const std::string& line : lines) longest = std::max(longest, line.size() + 1);
  // Emitted text is compared as it comes, so that half a million readings stay quick.
  std::int64_t flips = 0;
  for (std::size_t bit = 0; bit < 8 * log.size(); bit += AFORE_BIT_STRIDE) {
    log[bit / 8] ^= static_cast<char>(1 << bit % 8);
    std::size_t at = 0, lost_raw = 0, emitted = 0;
    bool altered = false;
    const LogReport report = read_log(log, Recover::skip, [&](std::string_view line) {
      for (; at < lines.size() && lines[at] != line; ++at) lost_raw += lines[at].size() + 1;
      altered = altered || at == lines.size();
      ++at;
      ++emitted;
    });
    for (; at < lines.size(); ++at) lost_raw += lines[at].size() + 1;
    log[bit / 8] ^= static_cast<char>(1 << bit % 8);
    ASSERT_FALSE(altered) << bit;
    ASSERT_EQ(report.lost_lines, static_cast<std::int64_t>(lines.size() - emitted)) << bit;
    ASSERT_LE(lost_raw, std::max(kMaxFrameRawBytes, longest)) << bit;
    ASSERT_TRUE(report.lost_lines <= 1 || lost_raw <= kMaxFrameRawBytes) << bit;
    ASSERT_FALSE(report.whole()) << bit;
    ++flips;
  }
  RecordProperty("flips", static_cast<int>(flips));
  EXPECT_EQ(read(log, Recover::strict).lines, lines);
}

TEST(LogDamage, AFlipIsAnErrorInStrictAndInTail) {
  const Lines lines = text_lines(300);
  const std::string log = make_log(lines);
  const auto frames = frames_of(log);
  for (std::size_t f = 0; f < frames.size(); ++f)
    for (const std::size_t inside : {std::size_t{5}, frames[f].bytes.size() - 1}) {
      const std::string bad =
          with(log, frames[f].at + inside, std::string(1, static_cast<char>(log[frames[f].at + inside] ^ 4)));
      const std::int64_t good = f == 1 ? 1 : frames[f].head.first_line;  // frame 1 is a copy
      const Lines before = prefix(lines, static_cast<std::size_t>(good));
      const Reading strict = read(bad, Recover::strict), tail = read(bad, Recover::tail);
      EXPECT_EQ(strict.lines, before);
      EXPECT_NE(strict.error.find("the log is damaged at byte " + std::to_string(frames[f].at)), std::string::npos)
          << strict.error;
      EXPECT_EQ(tail.lines, before);
      EXPECT_EQ(tail.error.empty(), f + 1 == frames.size()) << tail.error;  // nothing good follows the end marker
    }
}

TEST(LogDamage, SwappedRepeatedAndMissingFrames) {
  const Lines lines = text_lines(400);
  const std::string log = make_log(lines, {50, 100, 200});
  const auto frames = frames_of(log);
  ASSERT_GE(frames.size(), 7u);
  const auto join = [&](const std::vector<std::size_t>& order) {
    std::string out = log.substr(0, kFileHeadBytes);
    for (const std::size_t f : order) out += frames[f].bytes;
    return out;
  };
  std::vector<std::size_t> in_order(frames.size());
  for (std::size_t i = 0; i < in_order.size(); ++i) in_order[i] = i;
  EXPECT_EQ(join(in_order), log);
  for (std::size_t i = 0; i < frames.size(); ++i)
    for (std::size_t j = 0; j < frames.size(); ++j) {
      auto moved = in_order, doubled = in_order;
      std::swap(moved[i], moved[j]);
      doubled.insert(doubled.begin() + static_cast<long>(j), i);
      const std::string what = std::to_string(i) + " " + std::to_string(j);
      const Reading swapped = read(join(moved), Recover::skip), repeated = read(join(doubled), Recover::skip);
      expect_exact(swapped, lines, "swapped " + what);
      EXPECT_EQ(swapped.report.whole(), i == j) << what;
      expect_exact(repeated, lines, "doubled " + what);
      EXPECT_TRUE(repeated.report.corrupt()) << what;
      if (i < j) {
        EXPECT_EQ(repeated.lines, lines) << what;  // a frame that comes again costs nothing
        EXPECT_EQ(repeated.report.repeated_frames, 1) << what;
      }
      EXPECT_NE(read(join(doubled), Recover::tail).error, "") << what;
    }
  for (std::size_t i = 0; i + 1 < frames.size(); ++i) {
    auto missing = in_order;
    missing.erase(missing.begin() + static_cast<long>(i));
    const Reading reading = read(join(missing), Recover::skip);
    expect_exact(reading, lines, "missing " + std::to_string(i));
    EXPECT_EQ(reading.lines.size(), lines.size() - (i < 2 ? 0 : frames[i].head.lines));
    EXPECT_NE(read(join(missing), Recover::tail).error.find("missing"), std::string::npos);
  }
}

TEST(LogDamage, ZerosOver4KiBAnywhere) {
  const Lines lines = text_lines(300);
  const std::string log = make_log(lines, {20, 21, 22, 23, 24, 100});
  for (std::size_t at = 0; at < log.size(); at += 101) {
    const std::string bad = with(log, at, std::string(std::min<std::size_t>(4096, log.size() - at), '\0'));
    const Reading reading = read(bad, Recover::skip);
    EXPECT_EQ(reading.error, "") << at;
    EXPECT_TRUE(is_subsequence(reading.lines, lines)) << at;
    if (at + 4096 < log.size()) expect_exact(reading, lines, std::to_string(at));
  }
}

TEST(LogDamage, BytesThatVanishOrAppear) {
  const Lines lines = text_lines(300);
  const std::string log = make_log(lines, {20, 40, 100});
  for (std::size_t at = 0; at < log.size() - 40; at += 97)
    for (const std::size_t size : {1, 39, 700}) {
      std::string less = log, more = log;
      less.erase(at, std::min(size, log.size() - kFrameHeadBytes - at));
      more.insert(at, noise_lines(1, size)[0]);
      expect_exact(read(less, Recover::skip), lines, "less " + std::to_string(at));
      expect_exact(read(more, Recover::skip), lines, "more " + std::to_string(at));
    }
}

// Two payloads under each other's heads, and one frame's fields with another's sums.
TEST(LogDamage, PayloadsBelongToTheirHeads) {
  const Lines lines(text_lines(2));
  const Lines equal_size = {"first", "aaaa", "bbbb"};
  const std::string log = make_log(equal_size, {1, 2});
  const auto frames = frames_of(log);
  ASSERT_EQ(frames[2].bytes.size(), frames[3].bytes.size());
  std::string bad = log;
  const std::size_t body = frames[2].bytes.size() - kFrameHeadBytes;
  bad.replace(frames[2].at + kFrameHeadBytes, body, frames[3].bytes.substr(kFrameHeadBytes));
  bad.replace(frames[3].at + kFrameHeadBytes, body, frames[2].bytes.substr(kFrameHeadBytes));
  const Reading reading = read(bad, Recover::skip);
  EXPECT_EQ(reading.lines, Lines{"first"});
  expect_exact(reading, equal_size, "payloads exchanged");
}

FrameHead head_of(FrameType type, std::int64_t sequence, std::int64_t first_line) {
  FrameHead head;
  head.type = static_cast<std::uint8_t>(type);
  head.sequence = sequence;
  head.first_line = first_line;
  return head;
}

TEST(LogDamage, AFrameInsideADamagedPayloadIsNotRead) {
  // A line that holds a good frame, stored as it is since it does not compress.
  const std::string forged = encode(head_of(FrameType::end, 1000, 1000), "");
  ASSERT_EQ(forged.find('\n'), std::string::npos);
  const Lines lines = {"first", noise_lines(1, 2000)[0] + forged + noise_lines(2, 2000)[1], "last"};
  std::string log = make_log(lines, {1});
  const auto at = log.find(forged);
  ASSERT_NE(at, std::string::npos);
  log[at - 100] ^= 1;
  const Reading reading = read(log, Recover::skip);
  EXPECT_EQ(reading.lines, (Lines{"first", "last"}));
  EXPECT_EQ(reading.report.lost_lines, 1);
}

TEST(LogFormat, UnknownTypesAndVersions) {
  const Lines lines = text_lines(5);
  const std::string log = make_log(lines, {2});
  const auto frames = frames_of(log);
  // Frames 0 1 2, a new one, then the rest with later numbers.
  const auto with_extra = [&](std::uint8_t type) {
    std::string out = log.substr(0, frames[3].at);
    FrameHead extra;
    extra.type = type;
    extra.flags = 0x55;
    extra.raw_bytes = 3;
    extra.sequence = 3;
    extra.first_line = frames[3].head.first_line;
    out += encode(extra, "whatever");
    for (std::size_t f = 3; f < frames.size(); ++f) {
      FrameHead head = frames[f].head;
      ++head.sequence;
      out += encode(head, std::string_view(frames[f].bytes).substr(kFrameHeadBytes));
    }
    return out;
  };
  const Reading ignorable = read(with_extra(0x84), Recover::strict);
  EXPECT_EQ(ignorable.error, "");
  EXPECT_EQ(ignorable.lines, lines);
  EXPECT_EQ(ignorable.report.ignored_frames, 1);
  EXPECT_TRUE(ignorable.report.whole());
  const Reading needed = read(with_extra(0x04), Recover::tail);
  EXPECT_NE(needed.error.find("type 4 with flags 0x55 is not known to this version"), std::string::npos)
      << needed.error;
  EXPECT_EQ(needed.lines, prefix(lines, 3));
  EXPECT_EQ(read(with_extra(0x04), Recover::skip).lines, lines);

  for (const Recover recover : {Recover::strict, Recover::tail, Recover::skip}) {
    FileHead later;
    later.version = 7;
    EXPECT_EQ(read(encode(later) + log.substr(kFileHeadBytes), recover).error,
              "log: a log of format version 7; this version of afore reads version 1");
    FileHead flagged;
    flagged.flags = 2;
    EXPECT_EQ(read(encode(flagged) + log.substr(kFileHeadBytes), recover).error,
              "log: a log of format version 1 with flags 0x2; this version of afore reads version 1");
    EXPECT_EQ(read(R"({"kind":"header","v":1})"
                   "\n",
                   recover)
                      .error == "",
              false);
  }
}

TEST(LogFormat, TextModeTransferIsNamed) {
  std::string log = make_log(text_lines(5));
  log.erase(log.find('\r'), 1);
  EXPECT_NE(read(log, Recover::strict).error.find("transfer in text mode"), std::string::npos);
  EXPECT_EQ(read(log, Recover::skip).lines, text_lines(5));
}

TEST(LogHostile, FramesThatLie) {
  const std::string start = make_log({"first"}).substr(0, frames_of(make_log({"first"}))[2].at);
  const std::string good = frames_of(make_log({"first", "second"}))[2].bytes.substr(kFrameHeadBytes);
  const auto reads = [&](FrameHead head, std::string_view payload) {
    const std::string end = encode(head_of(FrameType::end, head.sequence + 1, head.first_line + 1), "");
    return read(start + encode(head, payload) + end, Recover::skip);
  };
  FrameHead head = head_of(FrameType::lines, 2, 1);
  head.lines = 1;
  head.raw_bytes = 7;
  EXPECT_EQ(reads(head, good).lines, (Lines{"first", "second"}));
  const auto refuses = [&](const FrameHead& bad, std::string_view payload, const char* what) {
    const Reading reading = reads(bad, payload);
    EXPECT_EQ(reading.lines, Lines{"first"}) << what;
    EXPECT_TRUE(reading.report.corrupt()) << what;
    EXPECT_EQ(reading.report.lost_lines, bad.first_line) << what;
  };
  auto change = [&](auto&& edit) {
    FrameHead bad = head;
    edit(bad);
    return bad;
  };
  refuses(change([](FrameHead& h) { h.raw_bytes = 6; }), good, "more than the head says");
  refuses(change([](FrameHead& h) { h.raw_bytes = 32768; }), good, "less than the head says");
  refuses(change([](FrameHead& h) { h.raw_bytes = 1u << 31; }), good, "too much");
  refuses(change([](FrameHead& h) { h.lines = 2; }), good, "two lines");
  refuses(change([](FrameHead& h) { h.lines = 0; }), good, "no line");
  refuses(change([](FrameHead& h) { h.flags = kLastPart; }), good, "a last part alone");
  refuses(change([](FrameHead& h) { h.flags = kFirstPart; }), good, "a first part with a line in it");
  refuses(change([](FrameHead& h) { h.flags = 3; }), good, "two parts at once");
  refuses(head, good.substr(0, good.size() - 1), "a cut payload");
  refuses(head, "", "no payload");
  refuses(head, std::string(kMaxFramePayloadBytes + 1, 'x'), "a payload of more than a frame");
  refuses(change([](FrameHead& h) { h.type = 1, h.flags = kMiddlePart; }), good, "part of a first line");
}

// A frame of the type head is the log's first line and no other; two lines in one were handed out, and counted as one.
TEST(LogHostile, AHeadHoldsOneLine) {
  const std::string two = frames_of(make_log({"a", "b", "c"}))[2].bytes.substr(kFrameHeadBytes);
  FrameHead head = head_of(FrameType::head, 0, 0);
  head.lines = 2;
  head.raw_bytes = 4;
  const Reading reading = read(encode(FileHead{}) + encode(head, two), Recover::skip);
  EXPECT_EQ(reading.lines, Lines{});
  EXPECT_EQ(reading.report.lines, 0);
  EXPECT_TRUE(reading.report.corrupt());
}

// Nor does a part that is not the last one hold a line's end: the rest would come out as lines of their own.
TEST(LogHostile, APartHoldsNoLineEnd) {
  const std::string two = frames_of(make_log({"a", "b", "c"}))[2].bytes.substr(kFrameHeadBytes);
  const std::string one = frames_of(make_log({"a", "d"}))[2].bytes.substr(kFrameHeadBytes);
  FrameHead first = head_of(FrameType::lines, 0, 0), last = head_of(FrameType::lines, 1, 0);
  first.flags = kFirstPart;
  first.lines = 2;
  first.raw_bytes = 4;
  last.flags = kLastPart;
  last.lines = 1;
  last.raw_bytes = 2;
  const Reading reading = read(encode(FileHead{}) + encode(first, two) + encode(last, one), Recover::skip);
  EXPECT_EQ(reading.lines, Lines{});
  EXPECT_TRUE(reading.report.corrupt());
}

TEST(LogHostile, LinesThatNeverEndStayBounded) {
  std::string log = make_log({"first"});
  log.resize(frames_of(log)[2].at);
  const std::string part_payload = frames_of(make_log({"f", std::string(40000, 'x')}))[2].bytes.substr(kFrameHeadBytes);
  for (int i = 0; i < 600; ++i) {  // 19 MiB in one line
    FrameHead head = head_of(FrameType::lines, 2 + i, 1);
    head.flags = i == 0 ? kFirstPart : kMiddlePart;
    head.raw_bytes = kMaxFrameRawBytes;
    log += encode(head, part_payload);
  }
  const Reading reading = read(log, Recover::skip);
  EXPECT_EQ(reading.lines, Lines{"first"});
  EXPECT_TRUE(reading.report.corrupt());
  EXPECT_NE(read(log, Recover::tail).error.find("16 MiB"), std::string::npos);
}

// Good heads over each other's payloads, which no frame ever matches: work must stay linear.
TEST(LogHostile, HeadsOverHeads) {
  std::string log = make_log({"first"});
  log.resize(frames_of(log)[2].at);
  FrameHead head = head_of(FrameType::lines, 2, 1);
  head.raw_bytes = 10;
  std::string one = encode(head, std::string(kMaxFramePayloadBytes, 'x')).substr(0, kFrameHeadBytes);
  for (int i = 0; i < 20000; ++i) log += one;
  const Reading reading = read(log, Recover::skip);
  EXPECT_EQ(reading.lines, Lines{"first"});
  EXPECT_EQ(reading.report.tail_bytes, 20000 * 40);
}

TEST(LogHostile, NotALog) {
  for (const std::string text : {"{}\n", "abc", "\x28\xB5\x2F\xFD zstd"})
    EXPECT_EQ(read(text, Recover::tail).error, "log: not a log of afore");
}

}  // namespace
}  // namespace afore
