#pragma once
// Shared by the tests of this room.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "util/error.h"

namespace afore::nn {

inline const std::filesystem::path kTinyFolder = AFORE_SOURCE_DIR "/models/tiny";

// "MESSAGE" or "MESSAGE | HINT" of the Error{kind} that `act` throws; "no error" when it throws none. Both are one
// line.
template <class Act>
std::string error_of(Act&& act, ErrorKind kind = ErrorKind::data) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    const std::string text = error.hint().empty() ? error.what() : error.what() + (" | " + error.hint());
    EXPECT_EQ(text.find_first_of(std::string_view("\n\r\0", 3)), text.npos) << text;
    return text;
  }
  return "no error";
}

inline std::string text_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.is_open()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

inline nlohmann::json json_of(const std::filesystem::path& path) { return nlohmann::json::parse(text_of(path)); }

inline std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  std::size_t at = 0;
  for (std::size_t found; (found = text.find(from, at)) != text.npos; at = found + from.size())
    out.append(text.substr(at, found - at)).append(to);
  return out.append(text.substr(at));
}

// The folder of real inputs, empty when there is none.
inline std::filesystem::path real_inputs() {
  const char* named = std::getenv("AFORE_SHARED");
  const std::filesystem::path path = named ? named : AFORE_SOURCE_DIR "/../shared";
  return std::filesystem::is_directory(path) ? path : std::filesystem::path();
}

// A folder of its own for one test, gone with it. Error texts name it: clean() makes it "FOLDER".
class TempFolder {
 public:
  TempFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "afore-nn-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) std::abort();
    path_ = name;
  }
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  void write(const std::string& name, std::string_view bytes) const {
    std::ofstream out(path_ / name, std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  std::string clean(std::string_view text) const { return replace_all(text, path_.string(), "FOLDER"); }

 private:
  std::filesystem::path path_;
};

// SplitMix64: the same numbers everywhere.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::int64_t below(std::int64_t end) { return static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(end)); }

 private:
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  std::uint64_t state_;
};

}  // namespace afore::nn
