// Fails the N-th allocation, read and write of the tools that read streams, once and from then on, for every N of the
// whole run (or a selection), and checks each time that the tool ends in one of the documented ways: exit 4 and one
// line that says why, or as if nothing had been; on standard output a prefix of the right output in whole lines.
//
//   fault_sweep --bin DIR --shim LIB --data DIR [--all] [--sanitized] [SCENARIO...]
#include <cstdio>
#include <set>

#include "../support/tool_run.h"

namespace {

using afore::test::Ended;
using afore::test::lines_of;
using afore::test::ToolRun;

// Of a range longer than this, every N up to kDense and evenly chosen ones behind it.
constexpr long kDense = 100, kChosen = 300;

struct Options {
  std::string bin, shim, data;
  bool all = false, sanitized = false;
  std::vector<std::string> scenarios;
};

struct Scenario {
  std::string name;
  std::vector<std::string> command;  // without the folder of the tool
  std::string input;                 // a file for standard input, or empty
};

struct Fault {
  std::string call, how;
  bool always = false;
};

long calls_counted(const ToolRun& runner, const std::string& call) {
  std::ifstream in(runner.file("count"));
  std::string name;
  for (long n = 0; in >> name >> n;)
    if (name == call) return n;
  throw std::runtime_error("the shim counted nothing: is it loaded?");
}

// `fault`: the value of AFORE_FAULT, "" = only count.
Ended run_with(const ToolRun& runner, const Scenario& scenario, const std::string& fault, const std::string& shim) {
  std::map<std::string, std::string> environment{{"LD_PRELOAD", shim}, {"ASAN_OPTIONS", "verify_asan_link_order=0"}};
  if (fault.empty()) environment["AFORE_FAULT_COUNT"] = runner.file("count");
  else environment["AFORE_FAULT"] = fault;
  return runner.run(scenario.command, scenario.input, environment);
}

// What is wrong with how the tool ended, "" when nothing is. `right` is a run without faults.
std::string verdict(const Ended& ended, const Ended& right, const std::string& tool, const Fault& fault) {
  if (ended.signal != 0) return "it died of signal " + std::to_string(ended.signal);
  const bool harmless = fault.how == "eintr" || fault.how == "eagain" || fault.how == "byte";
  if (ended.code == 0) return ended.out == right.out ? "" : "it ended well, with another output";
  if (harmless) return "exit " + std::to_string(ended.code) + ", and the call was only to be made again";
  if (ended.code != 4) return "exit " + std::to_string(ended.code);
  int errors = 0;
  for (const std::string& line : lines_of(ended.err)) {
    if (line.starts_with(tool + ": error: ")) ++errors;
    else if (!line.starts_with(tool + ": hint: ") && !line.starts_with(tool + ": warning: "))
      return "it says '" + line + "'";
  }
  if (errors != 1) return std::to_string(errors) + " error lines";
  if (fault.call == "malloc" && ended.err.find("out of memory") == std::string::npos) return "it blames something else";
  if (!right.out.starts_with(ended.out)) return "its output is no prefix of the right one";
  const bool whole_lines = ended.out.empty() || ended.out.back() == '\n';
  return whole_lines || fault.call == "write" ? "" : "its output ends inside a line";
}

std::set<long> selection(long range, bool all) {
  std::set<long> chosen;
  for (long n = 1; n <= range && (all || n <= kDense); ++n) chosen.insert(n);
  for (long i = 0; i < kChosen; ++i) chosen.insert(1 + i * std::max(0L, range - 1) / (kChosen - 1));
  for (long n = std::max(1L, range - 5); n <= range; ++n) chosen.insert(n);
  return range == 0 ? std::set<long>() : chosen;
}

struct Counts {
  long runs = 0, findings = 0, tolerated = 0;
};

void sweep(const ToolRun& runner, const Scenario& scenario, const Fault& fault, const Ended& right,
           const Options& options, Counts& total) {
  const long range = calls_counted(runner, fault.call);
  Counts counts;
  for (const long n : selection(range, options.all)) {
    std::string text = fault.call + ":" + std::to_string(n);
    if (fault.always) text += ":always";
    if (!fault.how.empty()) text += ":" + fault.how;
    const Ended ended = run_with(runner, scenario, text, options.shim);
    ++counts.runs;
    counts.tolerated += ended.code == 0;
    const std::string wrong = verdict(ended, right, scenario.command[0], fault);
    if (wrong.empty()) continue;
    ++counts.findings;
    std::printf("FINDING %s: AFORE_FAULT=%s: %s\n%s", scenario.name.c_str(), text.c_str(), wrong.c_str(),
                ended.err.substr(0, 1000).c_str());
  }
  std::printf("%s: %s%s%s%s, %ld of %ld: %ld without effect, %ld findings\n", scenario.name.c_str(), fault.call.c_str(),
              fault.how.empty() ? "" : " ", fault.how.c_str(), fault.always ? " always" : "", counts.runs, range,
              counts.tolerated, counts.findings);
  std::fflush(stdout);
  total.runs += counts.runs;
  total.findings += counts.findings;
}

// The output of a run without faults, as the file of the next tool.
void make(const ToolRun& runner, const Scenario& scenario, const std::string& out_file) {
  const Ended ended = runner.run(scenario.command, scenario.input);
  if (ended.code != 0 || ended.signal != 0 || ended.out.empty())
    throw std::runtime_error(scenario.name + " fails without any fault: " + ended.err);
  runner.write(out_file, ended.out);
}

std::vector<Scenario> scenarios(const ToolRun& runner, const std::string& data) {
  const std::string ids = data + "/math.ids.u8.zst", index = data + "/math.index.json";
  const Scenario import{"import",
                        {"afore-trace", "import", "--from", "routing-ids", ids, "--meta", index, "--concurrent", "12",
                         "--microbatches", "3", "--warmup-steps", "1", "--steps", "40", "--model", "gpt-oss-20b"},
                        ""};
  const std::string stream = runner.file("stream"), planned = runner.file("planned");
  make(runner, import, "stream");
  const Scenario plan{
      "plan", {"afore-plan", "--workers", "4", "--slots", "1", "--tile-tokens", "4", "--summary"}, stream};
  make(runner, plan, "planned");
  return {import,
          {"stat", {"afore-trace", "stat", stream}, ""},
          plan,
          {"replay", {"afore-serve", "replay", "--host", "sim", planned}, ""}};
}

int run(const Options& options) {
  const ToolRun runner(options.bin);
  std::vector<Fault> faults;
  for (const bool always : {false, true}) {
    faults.push_back({"malloc", "", always});
    if (options.sanitized) continue;
    faults.push_back({"read", "", always});
    faults.push_back({"write", "enospc", always});
    faults.push_back({"write", "eio", always});
    faults.push_back({"read", "byte", always});
    faults.push_back({"write", "byte", always});
  }
  // For ever, these two would be a tool that waits, as it should.
  for (const char* call : {"read", "write"})
    for (const char* how : {"eintr", "eagain"})
      if (!options.sanitized) faults.push_back({call, how, false});
  Counts total;
  for (const Scenario& scenario : scenarios(runner, options.data)) {
    const auto& wanted = options.scenarios;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), scenario.name) == wanted.end()) continue;
    const Ended right = run_with(runner, scenario, "", options.shim);
    for (const Fault& fault : faults) sweep(runner, scenario, fault, right, options, total);
  }
  std::printf("%ld runs, %ld findings\n", total.runs, total.findings);
  return total.findings == 0 && total.runs > 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const auto value = [&] { return i + 1 < argc ? std::string(argv[++i]) : std::string(); };
    if (word == "--bin") options.bin = value();
    else if (word == "--shim") options.shim = value();
    else if (word == "--data") options.data = value();
    else if (word == "--all") options.all = true;
    else if (word == "--sanitized") options.sanitized = true;
    else options.scenarios.push_back(word);
  }
  try {
    return run(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "fault_sweep: %s\n", error.what());
    return 2;
  }
}
