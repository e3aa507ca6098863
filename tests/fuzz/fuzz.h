#pragma once
// What the fuzz targets share. A target defines LLVMFuzzerTestOneInput (LLVM's libFuzzer, "Fuzz target"); built with
// clang++ it is a fuzzer, otherwise replay.cc runs it over its corpus.
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "util/error.h"

// In release builds too, and with a stop that both drivers report.
#define FUZZ_CHECK(condition)                                                      \
  do {                                                                             \
    if (!(condition)) {                                                            \
      std::fprintf(stderr, "%s:%d: broken: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                \
    }                                                                              \
  } while (false)

namespace afore::fuzz {

// Whether `act` refused its input. Only Error{data} and Error{usage} with one-line texts are refusals; whatever else
// is thrown ends the program, as it would be a finding. The text of the refusal goes to `text`.
template <class Act>
bool refuses(Act&& act, std::string* text = nullptr) {
  try {
    act();
  } catch (const Error& error) {
    const std::string_view what = error.what();
    if (error.kind() != ErrorKind::data && error.kind() != ErrorKind::usage) {
      std::fprintf(stderr, "not the input's fault: %s\n", error.what());
      std::abort();
    }
    FUZZ_CHECK(!what.empty() && what.size() < 4096);
    FUZZ_CHECK(what.find('\n') == std::string_view::npos && error.hint().find('\n') == std::string::npos);
    if (text != nullptr) *text = error.what() + error.hint();
    return true;
  }
  return false;
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace afore::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
