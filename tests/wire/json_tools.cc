// The table of json_cases.txt, line by line through the tools that read streams: what is refused is exit 3 and one
// message with its line, nothing comes out of it, and what stood before it is out; what is taken passes as it is.
//
//   json_tools BIN_DIR SOURCE_DIR
#include <cstdio>

#include "../support/tool_run.h"
#include "json_cases.h"

namespace {

using afore::test::Ended;
using afore::test::ToolRun;
using afore::wire::JsonCase;

const std::string kBefore =
    R"({"kind":"header","v":1,"model":{"layers":4,"moe_layers":[3],"experts":4,"top_k":2,"hidden":64,)"
    R"("moe_intermediate":32,"expert_bytes":12288},"cluster":{"ffn_workers":2}})"
    "\n"
    R"({"kind":"note","n":1})"
    "\n"
    R"({"kind":"demand","step":1,"layer":3,"microbatch":0,"phase":"decode","tokens":4,"counts":[0,5,1,2]})"
    "\n";
const std::string kAfter =
    R"({"kind":"demand","step":2,"layer":3,"microbatch":0,"phase":"decode","tokens":4,"counts":[1,1,4,2]})"
    "\n";
constexpr int kLine = 4;  // of the case

struct Tool {
  std::vector<std::string> command;
  bool is_filter;      // every input line comes out again
  std::string before;  // its output for the lines before the case, by themselves
};

// What is wrong with the refusal of a line, "" when nothing is.
std::string refusal_fault(const Tool& tool, const Ended& ended) {
  if (ended.signal != 0) return "it died of signal " + std::to_string(ended.signal);
  if (ended.code != 3) return "exit " + std::to_string(ended.code);
  const auto lines = afore::test::lines_of(ended.err);
  const std::string name = tool.command[0];
  if (lines.empty() || lines.size() > 2) return "not one message and a hint";
  if (!lines[0].starts_with(name + ": error: stdin:" + std::to_string(kLine) + ": ")) return "the message has no place";
  if (lines.size() == 2 && !lines[1].starts_with(name + ": hint: ")) return "another line behind the message";
  for (const unsigned char c : ended.err)
    if (c != '\n' && (c < 0x20 || c == 0x7F)) return "a control character in the message";
  if (!tool.is_filter) return ended.out.empty() ? "" : "output of half a stream";
  if (ended.out.empty() || ended.out.back() != '\n') return "no whole lines before it";
  if (ended.out.find("\"n\":1}\n") == std::string::npos) return "a whole line before it is missing";
  return tool.before.starts_with(ended.out) ? "" : "more came out than the lines before it give";
}

std::string passing_fault(const Tool& tool, const Ended& ended, const std::string& line) {
  if (ended.signal != 0) return "it died of signal " + std::to_string(ended.signal);
  if (ended.code != 0) return "exit " + std::to_string(ended.code);
  const bool passed = ended.out.find("\n" + line + "\n") != std::string::npos;
  return passed || !tool.is_filter ? "" : "the line did not pass as it was";
}

struct Totals {
  int refused = 0, passed = 0, failed = 0;
};

void check(const ToolRun& runner, const Tool& tool, const JsonCase& c, Totals& totals) {
  const auto run = [&](const std::string& line) {
    return runner.run(tool.command, runner.write("stream", kBefore + line + "\n" + kAfter));
  };
  // By itself no text of the table is a record: those that are JSON lack a kind, or are no object. Within a record of
  // an unknown kind they pass.
  const Ended alone = run(c.text);
  std::string wrong = refusal_fault(tool, alone);
  ++totals.refused;
  const bool deep = c.name.find("64_levels") != std::string::npos;  // and one more within a record
  if (wrong.empty() && c.is_json() && !deep) {
    const std::string line = R"({"kind":"note","text":)" + c.text + "}";
    const Ended within = run(line);
    wrong = c.is_ours() ? passing_fault(tool, within, line) : refusal_fault(tool, within);
    ++totals.passed;
    if (!c.is_ours() && wrong.empty() && within.err.find("/text/a: the key stands twice") == std::string::npos)
      wrong = "the message has no JSON path";
  }
  if (wrong.empty()) return;
  ++totals.failed;
  std::printf("%s, %s %s: %s\n%s", tool.command[0].c_str(), c.verdict.c_str(), c.name.c_str(), wrong.c_str(),
              alone.err.substr(0, 400).c_str());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  const ToolRun runner(argv[1]);
  std::vector<Tool> tools = {{{"afore-plan", "-"}, true, ""},
                             {{"afore-serve", "replay", "--policy", "afore", "-"}, true, ""},
                             {{"afore-trace", "stat", "-"}, false, ""}};
  const auto cases = afore::wire::read_json_cases(std::string(argv[2]) + "/tests/wire/json_cases.txt");
  Totals totals;
  for (Tool& tool : tools) {
    tool.before = runner.run(tool.command, runner.write("stream", kBefore)).out;
    for (const JsonCase& c : cases)
      if (c.is_one_line()) check(runner, tool, c, totals);
  }
  std::printf("%d lines refused, %d texts within a record, %d wrong\n", totals.refused, totals.passed, totals.failed);
  return totals.failed == 0 && totals.passed > 0 ? 0 : 1;
}
