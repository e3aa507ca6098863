#pragma once
// Logs for tests: lines, a scratch folder, a log's bytes and frames.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "util/error.h"
#include "util/log/log_format.h"
#include "util/log/log_reader.h"
#include "util/log/log_writer.h"
#include "util/rng.h"

namespace afore::log_test {

using Lines = std::vector<std::string>;

// A folder of the test's own, removed at its end.
class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "afore_log_XXXXXX").string();
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_bytes(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

// A log of `lines`; a frame ends behind every line whose number is in `borders`.
inline std::string make_log(const Lines& lines, const std::vector<std::size_t>& borders = {}) {
  const Scratch scratch;
  LogWriter writer(scratch.file("x.afl"), {.fsync = Fsync::none});
  for (std::size_t i = 0; i < lines.size(); ++i) {
    writer.write_line(lines[i]);
    if (std::find(borders.begin(), borders.end(), i) != borders.end()) writer.flush();
  }
  writer.finish();
  return bytes_of(scratch.file("x.afl"));
}

// Lines as records are: text that compresses.
inline Lines text_lines(int count, const std::string& name = "demand") {
  Rng rng(7, name);
  Lines lines{R"({"kind":"header","v":1})"};
  for (int i = 0; i < count; ++i) {
    std::string line = R"({"kind":")" + name + R"(","step":)" + std::to_string(i) + R"(,"counts":[)";
    for (int e = 0; e < 32; ++e) line += std::to_string(rng.below(200)) + ",";
    lines.push_back(line + "0]}");
  }
  return lines;
}

// Lines of random bytes, which do not compress and are quick to verify.
inline Lines noise_lines(int count, std::size_t size) {
  Rng rng(11, "noise");
  Lines lines;
  for (int i = 0; i < count; ++i) {
    std::string& line = lines.emplace_back(size, '\0');
    for (char& c : line) c = static_cast<char>(11 + rng.below(245));
  }
  return lines;
}

struct Frame {
  std::size_t at;
  FrameHead head;
  std::string bytes;
};

// The frames of an undamaged log.
inline std::vector<Frame> frames_of(const std::string& log) {
  std::vector<Frame> frames;
  for (std::size_t at = kFileHeadBytes; at < log.size();) {
    Frame frame{at, {}, ""};
    EXPECT_TRUE(log.size() - at >= kFrameHeadBytes &&
                decode(std::string_view(log).substr(at, kFrameHeadBytes), frame.head));
    frame.bytes = log.substr(at, frame.head.size());
    at += frame.head.size();
    frames.push_back(frame);
  }
  return frames;
}

struct Reading {
  Lines lines;
  LogReport report;
  std::string error;
};

inline Reading read(std::string_view log, Recover recover) {
  Reading reading;
  try {
    reading.report = read_log(log, recover, [&](std::string_view line) { reading.lines.emplace_back(line); });
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(ErrorKind::data)) << error.what();
    reading.error = error.what();
  }
  return reading;
}

inline Lines prefix(const Lines& lines, std::size_t count) {
  return {lines.begin(), lines.begin() + static_cast<long>(count)};
}

}  // namespace afore::log_test
