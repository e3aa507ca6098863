#include "common/cli.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "common/cli_internal.h"
#include "util/error.h"

namespace afore::cli {

std::string printable(const std::string& text) {
  static constexpr char kHex[] = "0123456789ABCDEF";
  std::string out;
  const auto escape = [&](unsigned char c) { out.append("\\x").append(1, kHex[c >> 4]).append(1, kHex[c & 15]); };
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = [&](std::size_t at) { return static_cast<unsigned char>(text[at]); };
    if (byte(i) < 0x20 || byte(i) == 0x7F) {
      escape(byte(i));
    } else if (byte(i) == 0xC2 && i + 1 < text.size() && byte(i + 1) >= 0x80 && byte(i + 1) < 0xA0) {
      escape(byte(i));  // U+0080 to U+009F, controls too
      escape(byte(++i));
    } else {
      out += text[i];
    }
  }
  return out;
}

namespace {

const char* g_tool = program_invocation_short_name;  // until tool_main() knows better
bool g_quiet = false;

struct CompletionRequest {
  std::string shell;
};

void say_line(const std::string& said) {
  constexpr std::size_t kMost = 2000;  // a path or a list in it may be of any length
  const std::string text = said.size() > kMost ? said.substr(0, kMost) + "..." : said;
  // One write per line: lines of the tools of one pipe share the terminal.
  const std::string line = std::string(g_tool) + ": " + printable(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

void say(const char* level, const std::string& message) { say_line(std::string(level) + ": " + message); }

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
    append(g_tool);
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
    ::_exit(fail_out_of_memory());
  } catch (...) {
  }
  g_default_terminate();
  std::abort();
}

// -q works before and after a subcommand's name.
void add_quiet(CLI::App& app) {
  if (app.get_option_no_throw("--quiet") == nullptr && app.get_option_no_throw("-q") == nullptr) {
    app.add_flag("-q,--quiet", g_quiet, "No warnings or notes on standard error");
  }
  for (CLI::App* sub : app.get_subcommands([](CLI::App*) { return true; })) add_quiet(*sub);
}

int run(CLI::App& app, int argc, char** argv, const std::function<void(CLI::App&)>& define) {
  app.set_version_flag("--version", producer(g_tool), "Print name and version");
  app.set_help_flag("-h,--help", "Print this help");
  app.get_formatter()->column_width(34);
  app.option_defaults()->delimiter('\0');
  add_choice_callback(app, "--print-completion", {"bash", "zsh", "fish"},
                      [](const std::string& shell) { throw CompletionRequest{shell}; });
  define(app);
  add_quiet(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp&) {
    return print_out(app.help());
  } catch (const CLI::CallForAllHelp&) {
    return print_out(app.help("", CLI::AppFormatMode::All));
  } catch (const CLI::CallForVersion&) {
    return print_out(producer(g_tool) + "\n");
  } catch (const CompletionRequest& request) {
    return print_out(completion_script(app, g_tool, request.shell));
  } catch (const CLI::ParseError& error) {
    const UsageMessage usage = usage_message(app, error);
    return fail(exit_code(ErrorKind::usage), usage.message, usage.hint);
  }
  const int signal = caught_signal();
  return signal == 0 ? 0 : 128 + signal;
}

// Everything but a lack of memory, which passes through wherever it strikes, also while an error is being told.
int run_and_tell(int argc, char** argv, const char* description, const std::function<void(CLI::App&)>& define) {
  int code = 0;
  try {
    CLI::App app(description, g_tool);
    code = run(app, argc, argv, define);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) {
      const std::string what = error.what();
      if (!g_quiet) say_line(what == "interrupted" ? what : "interrupted: " + what);
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
              const std::function<void(CLI::App& app)>& define) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its limit is a failed write, and told as one
  g_tool = name;
  std::signal(SIGPIPE, SIG_DFL);  // a parent may have left it ignored; then `| head` would not end us
  try {
    return run_and_tell(argc, argv, description, define);
  } catch (const std::bad_alloc&) {
    return fail_out_of_memory();
  }
}

std::string producer(const std::string& tool_name) { return tool_name + " " + AFORE_VERSION; }

void warn(const std::string& message) {
  if (!g_quiet) say("warning", message);
}

void note(const std::string& message) {
  if (!g_quiet) say("note", message);
}

}  // namespace afore::cli
