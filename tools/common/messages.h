#pragma once
// One line on standard error per message: "afore-plan: error: stdin:17: ...". Labels are coloured where a person reads.
#include <string>

namespace afore::cli {

void set_tool_name(const char* name);  // outlives every message; until then it is the program's own
const char* tool_name();

// -q: no warnings, notes or progress.
bool& quiet();

// NO_COLOR (present and not empty, https://no-color.org) beats CLICOLOR_FORCE (not empty, not "0",
// https://bixense.com/clicolors) beats whether standard error is a terminal.
bool colours_stderr();

void say_line(const std::string& text);                          // "TOOL: TEXT"
void say(const std::string& level, const std::string& message);  // "TOOL: LEVEL: MESSAGE"; error, warning, note or hint

// Dropped under --quiet: what may be wrong, and what was done, for whoever reads along.
void warn(const std::string& message);
void note(const std::string& message);

// With control characters as \x1B: names of files and values from the input may hold anything, and the terminal gets
// none of it raw. Messages go through it by themselves.
std::string printable(const std::string& text);

}  // namespace afore::cli
