#pragma once
// Shared by the tests of this room.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <utility>

#include "util/error.h"
#include "wire/wire.h"

namespace afore::wire {

// "MESSAGE" or "MESSAGE | HINT" of the Error{kind} that `act` throws; "no error" when it throws none.
template <class Act>
std::string error_of(Act&& act, ErrorKind kind = ErrorKind::data) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(static_cast<int>(error.kind()), static_cast<int>(kind)) << error.what();
    return error.hint().empty() ? error.what() : error.what() + (" | " + error.hint());
  }
  return "no error";
}

// A header with everything the checks use: layers 1-3 are MoE, 4 experts, top-2, 2 FFN and 2 attention workers.
inline Header small_header() {
  Header header;
  header.producer = "afore-trace 0.1.0";
  header.source = "routing";
  header.model.name = "small";
  header.model.layers = 4;
  header.model.moe_layers = {1, 2, 3};
  header.model.experts = 4;
  header.model.top_k = 2;
  header.cluster.attention_workers = 2;
  header.cluster.ffn_workers = 2;
  return header;
}

inline RecordDecoder small_decoder(ReadOptions options = {}) {
  RecordDecoder decoder("stdin", options);
  decoder.decode(to_json(small_header()), 1);
  return decoder;
}

// Error text of `line` as line 2 behind small_header().
inline std::string error_after_header(const std::string& line, ReadOptions options = {}) {
  RecordDecoder decoder = small_decoder(options);
  return error_of([&] { decoder.decode(line, 2); });
}

// Error text of `line` as the first line of a stream.
inline std::string error_alone(const std::string& line) {
  RecordDecoder decoder("stdin");
  return error_of([&] { decoder.decode(line, 1); });
}

inline const std::string kDemand =
    R"({"kind":"demand","step":17,"layer":3,"microbatch":1,"phase":"decode","tokens":4,"counts":[0,5,1,2]})";

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from << " is not in " << text;
  return text.replace(at, from.size(), to);
}

// The folder of real inputs, empty when there is none.
inline std::filesystem::path real_inputs() {
  const char* named = std::getenv("AFORE_SHARED");
  const std::filesystem::path path = named ? named : AFORE_SOURCE_DIR "/../shared";
  return std::filesystem::is_directory(path) ? path : std::filesystem::path();
}

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

}  // namespace afore::wire
