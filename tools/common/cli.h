#pragma once
// What every tool's command line shares: help and version, one catch site, exit codes, completions, the manual page.
#include <functional>
#include <string>

#include "common/options.h"

namespace afore::cli {

// Declares options and commands on `app` (own their values in the caller's scope) and hangs the work on on_run() of the
// app or of a command: the whole line is parsed before anything runs.
// Returns the exit code: 0 done, 1 the answer is no, 2 usage, 3 bad input data, 4 I/O, peer or memory, 5 internal,
// 129/130/143 interrupted. Messages are one line: "afore-plan: error: stdin:17: /counts/3: count is negative".
// Adds --version, -q/--quiet and the hidden --print-completion=bash|zsh|fish and --print-man.
// `name` and `description` outlive the call.
int tool_main(int argc, char** argv, const char* name, const char* description,
              const std::function<void(Command app)>& define);

// "afore-plan 0.1.0", for headers and summaries.
std::string producer(const std::string& tool_name);

// Error{usage} when `path` is standard input and that is a terminal: `command` would wait for nobody's typing.
void refuse_terminal_stdin(const std::string& path, Command command);

}  // namespace afore::cli
