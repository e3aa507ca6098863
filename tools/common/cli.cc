#include "common/cli.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "common/cli_internal.h"
#include "common/command_line.h"
#include "common/messages.h"
#include "common/publish.h"
#include "common/signals.h"
#include "util/error.h"

namespace afore::cli {

namespace {

struct CompletionRequest {
  std::string shell;
};
struct ManRequest {};

int fail(int code, const std::string& message, const std::string& hint) {
  say("error", message);
  if (!hint.empty()) say("hint", hint);
  return code;
}

// Help, version and completions are data the user asked for: they go to stdout, and a failed write counts.
int print_out(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::answer_no: return 1;
    case ErrorKind::usage: return 2;
    case ErrorKind::data: return 3;
    case ErrorKind::io: return 4;
    case ErrorKind::internal: return 5;
    case ErrorKind::interrupted: {
      const int signal = caught_signal();
      return 128 + (signal == 0 ? SIGINT : signal);
    }
  }
  return 5;
}

// Without an allocation, as there may be no memory for one; by itself in one write, as all lines.
int fail_out_of_memory() {
  static constexpr const char* kParts[] = {": error: out of memory\n",
                                           ": hint: use a smaller input or size, or more memory\n"};
  char text[256];
  std::size_t size = 0;
  const auto append = [&](const char* part) {
    const std::size_t n = std::min(std::strlen(part), sizeof text - size);
    std::memcpy(text + size, part, n);
    size += n;
  };
  for (const char* part : kParts) {
    append(tool_name());
    append(part);
  }
  [[maybe_unused]] const ssize_t put = ::write(STDERR_FILENO, text, size);
  return exit_code(ErrorKind::io);
}

[[noreturn]] void on_terminate();
const std::terminate_handler g_default_terminate = std::set_terminate(on_terminate);

// Where no catch is reached: memory runs out before tool_main(), or inside a library's function that may not throw
// (nlohmann's destructors allocate).
void on_terminate() {
  try {
    if (std::current_exception()) throw;
  } catch (const std::bad_alloc&) {
    remove_unfinished();
    ::_exit(fail_out_of_memory());
  } catch (...) {
  }
  g_default_terminate();
  std::abort();
}

// -q works before and after a subcommand's name.
void add_quiet(Command command) {
  CLI::App& app = *command.get();
  if (app.get_option_no_throw("--quiet") == nullptr && app.get_option_no_throw("-q") == nullptr) {
    command.flag("-q,--quiet", quiet(), "No warnings or notes on standard error");
  }
  for (const Command sub : command.commands()) add_quiet(sub);
}

// Of the command whose help was asked for.
Command asked(Command app) {
  const std::vector<Command> given = app.given_commands();
  return given.empty() ? app : asked(given.front());
}

int run(CLI::App& app, int argc, char** argv, const std::function<void(Command)>& define) {
  app.set_version_flag("--version", producer(tool_name()), "Print name and version");
  app.set_help_flag("-h,--help", "Print this help");
  app.option_defaults()->delimiter('\0');
  Command tool(&app);
  add_choice_callback(tool, "--print-completion", {"bash", "zsh", "fish"},
                      [](const std::string& shell) { throw CompletionRequest{shell}; });
  tool.flag(
          "--print-man", [] { throw ManRequest{}; }, "")
      .under("");
  define(tool);
  add_quiet(tool);
  app.parse_complete_callback([tool] { refuse_values(tool); });  // before the command's final_callback
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print_out(help_text(asked(tool)));
  } catch (const CLI::CallForVersion&) {
    return print_out(producer(tool_name()) + "\n");
  } catch (const CompletionRequest& request) {
    return print_out(completion_script(tool, tool_name(), request.shell));
  } catch (const ManRequest&) {
    return print_out(man_page(tool, tool_name()));
  } catch (const CLI::ParseError& error) {
    const UsageMessage usage = usage_message(tool, error);
    return fail(exit_code(ErrorKind::usage), usage.message, usage.hint);
  }
  const int signal = caught_signal();
  return signal == 0 ? 0 : 128 + signal;
}

// Everything but a lack of memory, which passes through wherever it strikes, also while an error is being told.
int run_and_tell(int argc, char** argv, const char* description, const std::function<void(Command)>& define) {
  int code = 0;
  try {
    CLI::App app(description, tool_name());
    code = run(app, argc, argv, define);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) {
      const std::string what = error.what();
      if (!quiet()) say_line(what == "interrupted" ? what : "interrupted: " + what);
      code = exit_code(error.kind());
    } else if (error.kind() == ErrorKind::answer_no && *error.what() == '\0') {
      code = exit_code(error.kind());  // the answer stands on standard output
    } else {
      code = fail(exit_code(error.kind()), error.what(), error.hint());
    }
  } catch (const std::bad_alloc&) {
    throw;
  } catch (const std::exception& error) {
    code = fail(exit_code(ErrorKind::internal), one_line(error.what()),
                "this is a bug in afore; please report the command and its input");
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    if (code == 0) code = fail(exit_code(ErrorKind::io), "cannot write to stdout", "");
  }
  return code;
}

}  // namespace

int tool_main(int argc, char** argv, const char* name, const char* description,
              const std::function<void(Command app)>& define) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is a failed write, and told as one
  set_tool_name(name);
  std::signal(SIGPIPE, SIG_DFL);  // a parent may have left it ignored; then `| head` would not end us
  try {
    return run_and_tell(argc, argv, description, define);
  } catch (const std::bad_alloc&) {
    return fail_out_of_memory();
  }
}

std::string producer(const std::string& tool_name) { return tool_name + " " + AFORE_VERSION; }

void refuse_terminal_stdin(const std::string& path, Command command) {
  if ((path != "-" && !path.empty()) || isatty(STDIN_FILENO) == 0) return;
  throw Error(ErrorKind::usage, "no input: standard input is a terminal",
              fmt::format("pipe records in or name a file; \"{} --help\" shows how", full_name(command)));
}

}  // namespace afore::cli
