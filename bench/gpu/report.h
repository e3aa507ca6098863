#pragma once
// What a check of a device found: checks, which decide the exit code, and figures, which do not. One JSON object, one
// table. docs/gpu.md says how to read them.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "wire/json_tree.h"

namespace afore::bench::gpu {

struct Check {
  std::string section, name;
  bool passed = false;
  std::string detail;  // of a failure: the first difference
};

struct Figure {
  std::string section, name, unit;
  double value = 0;  // a median, where n > 1
  std::optional<double> p95;
  std::int64_t n = 1;
  std::string note;
  std::string goal;  // what it should be; empty: nobody said
  bool met = false;
};

struct Skipped {
  std::string section, why;
};

struct Step {  // a program that was run
  std::string name;
  int exit_code = 0;
  double seconds = 0;
};

struct Report {
  bool stand_in = false;                                   // no device: values are nobody's and are left out
  std::vector<std::pair<std::string, std::string>> facts;  // of the device and the run, by name
  std::vector<Check> checks;
  std::vector<Figure> figures;
  std::vector<Skipped> skipped;
  std::vector<Step> steps;

  // `detail` empty: passed.
  void check(const std::string& section, const std::string& name, const std::string& detail);
  bool passed() const;

  std::string json() const;
  std::string table() const;
};

// Adds what `json()` wrote. Error{data}.
void add_report(wire::JsonValue from, Report& to);

}  // namespace afore::bench::gpu
