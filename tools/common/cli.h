#pragma once
// What every tool's command line shares: help and version, one catch site, exit codes, signals, completions.
// CLI11 is included only under tools/.
#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "core/cost_model.h"
#include "core/model_spec.h"
#include "util/stop_flag.h"

namespace afore::cli {

// Declares options and subcommands on `app` (own them in the caller's scope) and hangs the work on
// `final_callback` of the app or of a subcommand: the whole line is parsed before anything runs.
// Returns the exit code: 0 done, 1 the answer is no, 2 usage, 3 bad input data, 4 I/O, peer or memory, 5 internal,
// 129/130/143 interrupted. Messages are one line: "afore-plan: error: stdin:17: /counts/3: count is negative".
// Adds --version, -q/--quiet and the hidden --print-completion=bash|zsh|fish and --print-man.
// `name` and `description` outlive the call.
int tool_main(int argc, char** argv, const char* name, const char* description,
              const std::function<void(CLI::App& app)>& define);

// Shown at the end of a command's help and in its man page, in order. `command` is shell text of lines up to 80
// columns, in which LF is a line's end; tests run the examples of a page in one scratch folder, one after the other, so
// that a file is made before it is read. Both outlive the call.
struct Example {
  const char* shows;
  const char* command;
};
void examples(const CLI::App& command, std::vector<Example> list);

// Marks `option` as naming a file that is written beside what goes to standard output: "-" is refused before anything
// runs, and so are two such options of a command that name one file.
CLI::Option* beside_stdout(CLI::Option* option);

// "afore-plan 0.1.0", for headers and summaries.
std::string producer(const std::string& tool_name);

// An error or warning line on stderr in the tools' form; warnings are dropped under --quiet.
void warn(const std::string& message);

// What was done, for whoever reads along: "afore-plan: note: ...", dropped under --quiet.
void note(const std::string& message);

// With control characters as \x1B: names of files and values from the input may hold anything, and the terminal gets
// none of it raw. Messages go through it by themselves.
std::string printable(const std::string& text);

// The candidate within a third of `word`'s length in edits (swaps count once), or "".
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// "did you mean NEAREST? " for the start of a hint, or "".
std::string guess_at(const std::string& word, const std::vector<std::string>& candidates);

// SIGINT, SIGTERM and SIGHUP (unless ignored) set the flag (to the signal's number) once; the second one ends the
// process at once. Without this call a signal ends a filter quietly, as the shell expects.
const StopFlag* catch_interrupts();
// A first signal is how this command is asked to end: if it does, that is exit 0.
void signals_end_well();
// Sets the same flag after so many seconds, once, to end what would go on: no interruption, and no exit code of one.
void limit_time(std::int64_t seconds);
bool time_is_up();  // the limit has set it

// Options with a range, refused with one line that says the range.
CLI::Option* add_int(CLI::App& app, const std::string& flags, std::int64_t& value, const std::string& help,
                     std::int64_t min = 0, std::int64_t max = std::numeric_limits<std::int64_t>::max());
CLI::Option* add_choice(CLI::App& app, const std::string& flags, std::string& value, const std::string& help,
                        const std::vector<std::string>& choices);
// Some of them: repeatable, and a list with commas.
CLI::Option* add_choices(CLI::App& app, const std::string& flags, std::vector<std::string>& values,
                         const std::string& help, const std::vector<std::string>& choices);
// Sizes with KiB/MiB/GiB (and K/M/G as powers of two), as nccl-tests take them.
std::int64_t parse_bytes(const std::string& text, const std::string& flag);  // Error{usage}
// "50-64,70" -> sorted unique list. Error{usage}
std::vector<int> parse_int_list(const std::string& text, const std::string& flag);

// --cost a100|h100|h200|FILE
HardwareProfile load_cost(const std::string& name_or_path);
// --model PRESET; Error{usage} lists the presets.
const ModelSpec& load_model_preset(const std::string& name, const std::string& flag = "--model");
// True when stdin is a terminal and would be read: the tool then prints usage and exits 2.
void refuse_terminal_stdin(const std::string& path, const CLI::App& app);

}  // namespace afore::cli
