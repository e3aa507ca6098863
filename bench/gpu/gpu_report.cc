// gpu_report FOLDER REFERENCE          joins what scripts/gpu-check left in FOLDER: report.json there, a table here
// gpu_report --prompts REFERENCE       the reference's prompts, for afore-serve run
// REFERENCE is models/tiny/golden/reference.json. Exit 1 when a check failed, 2 for a wrong command line.
#include <cstdio>
#include <exception>
#include <filesystem>
#include <sstream>

#include "bench/gpu/run_files.h"
#include "util/error.h"
#include "util/line_io.h"

namespace afore::bench::gpu {
namespace {

// Of the run: NAME, VALUE by line.
void add_facts(const std::string& folder, Report& report) {
  std::istringstream in(read_text(folder + "/facts.tsv"));
  for (std::string line; std::getline(in, line);) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos) throw Error(ErrorKind::data, "facts.tsv: not a fact: " + line);
    report.facts.emplace_back(line.substr(0, tab), line.substr(tab + 1));
    if (line == "stand_in\ttrue") report.stand_in = true;
  }
}

// Programs whose output is compared with nothing may run out of time; all others may not.
bool only_measures(const std::string& kind) { return kind == "load" || kind == "planner"; }

class Joined {
 public:
  Joined(const std::string& folder, const Reference& reference) : folder_(folder), reference_(reference) {}

  void add(const RunStep& step, Report& report) {
    if (step.kind == "skipped") {
      report.skipped.push_back({step.name, step.why});
      return;
    }
    report.steps.push_back({step.name, step.exit_code, step.seconds});
    if (step.exit_code == kTimedOut && only_measures(step.kind)) {
      report.skipped.push_back({step.name, "ran out of time"});
      return;
    }
    // gpu_check says itself which check failed.
    const std::string text = read_text(folder_ + "/" + step.name + ".out");
    const bool told = step.kind == "gpu_check" && step.exit_code == 1 && !text.empty();
    report.check("run", step.name,
                 step.exit_code == kTimedOut    ? "ran out of time"
                 : step.exit_code != 0 && !told ? "exit code " + std::to_string(step.exit_code) + ", see its log"
                 : text.empty()                 ? "there is no output"
                                                : "");
    if (!text.empty()) read(step, text, report);
  }

 private:
  void read(const RunStep& step, const std::string& text, Report& report) {
    try {
      if (step.kind == "gpu_check") add_gpu_check(step.name, text, report);
      else if (step.kind == "copies") add_copies(step.name, text, report);
      else if (step.kind == "overlap") add_overlap(step.name, text, report);
      else if (step.kind == "load") add_load(step.name, text, report);
      else if (step.kind == "planner") add_planner(text, report);
      else if (step.kind == "serve") add_tokens(step.name, text, report);
      else throw Error(ErrorKind::data, "no step of kind " + step.kind);
    } catch (const Error& error) {
      report.check("run", step.name + ": output", error.what());
    }
  }
  static void add_gpu_check(const std::string& name, const std::string& text, Report& report) {
    wire::JsonTree tree;
    add_report(tree.parse_syntax(text, name), report);
  }
  // The first is what all others are compared with; a name that ends in "-again" also with the one before it.
  void add_tokens(const std::string& name, const std::string& text, Report& report) {
    Tokens tokens = completions(name, text);
    if (first_.empty()) {
      first_ = tokens;
      first_name_ = name;
    } else if (name.ends_with("-again")) {
      compare_tokens(name, tokens, last_name_, last_, {}, report);
    } else {
      compare_tokens(name, tokens, first_name_, first_, reference_, report);
    }
    last_ = std::move(tokens);
    last_name_ = name;
  }

  std::string folder_;
  const Reference& reference_;
  Tokens first_, last_;
  std::string first_name_, last_name_;
};

int join(const std::string& folder, const std::string& reference_file) {
  const Reference reference = read_reference(read_text(reference_file));
  Report report;
  add_facts(folder, report);
  Joined joined(folder, reference);
  for (const RunStep& step : read_steps(folder)) joined.add(step, report);
  ByteWriter out(folder + "/report.json");
  out.write(report.json());
  out.finish();
  std::fputs(report.table().c_str(), stdout);
  return report.passed() ? 0 : 1;
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() != 2) throw Error(ErrorKind::usage, "gpu_report FOLDER REFERENCE, or --prompts REFERENCE");
  if (!std::filesystem::exists(arguments[1])) throw Error(ErrorKind::usage, arguments[1] + " is absent");
  if (arguments[0] != "--prompts") return join(arguments[0], arguments[1]);
  std::fputs(reference_prompts(read_text(arguments[1])).c_str(), stdout);
  return 0;
}

}  // namespace
}  // namespace afore::bench::gpu

int main(int argc, char** argv) {
  try {
    return afore::bench::gpu::run({argv + 1, argv + argc});
  } catch (const afore::Error& error) {
    std::fprintf(stderr, "gpu_report: error: %s\n", error.what());
    return error.kind() == afore::ErrorKind::usage ? 2 : 1;
  }
}
