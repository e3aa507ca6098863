#pragma once
// What the programs that scripts/gpu-check runs left in a folder, as checks and figures.
#include <map>
#include <string>
#include <vector>

#include "bench/gpu/report.h"

namespace afore::bench::gpu {

// A line of steps.tsv: KIND, NAME, EXIT CODE, SECONDS, separated by tabs. Its output is NAME.out. A step that was not
// run has the kind "skipped", its name, and the reason.
struct RunStep {
  std::string kind, name;
  int exit_code = 0;
  double seconds = 0;
  std::string why;  // skipped
};
inline constexpr int kTimedOut = 124;  // as timeout(1) says it

std::vector<RunStep> read_steps(const std::string& folder);
// Whole, "" where there is no such file.
std::string read_text(const std::string& path);

// afore-migrate --json: copies between virtual workers.
void add_copies(const std::string& name, const std::string& text, Report& report);
// afore-migrate overlap --json.
void add_overlap(const std::string& name, const std::string& text, Report& report);
// afore-serve run --json of a made-up model: its summary.
void add_load(const std::string& name, const std::string& text, Report& report);
// c_api_bench: the planner, and the ring that plans go through.
void add_planner(const std::string& text, Report& report);

using Tokens = std::map<std::string, std::vector<std::int64_t>>;  // by prompt
Tokens completions(const std::string& name, const std::string& text);

// The prompts of models/tiny/golden/reference.json, for afore-serve run --prompts.
std::string reference_prompts(const std::string& reference);
// What an independent implementation says, and how clearly.
struct Reference {
  std::map<std::string, std::vector<std::int64_t>> ids;
  std::map<std::string, std::vector<double>> margins;
};
Reference read_reference(const std::string& text);
// Every prompt's tokens are `base`'s, or first differ where the reference chose between two that were nearly level.
void compare_tokens(const std::string& name, const Tokens& got, const std::string& base_name, const Tokens& base,
                    const Reference& reference, Report& report);

}  // namespace afore::bench::gpu
