#include "common/messages.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "common/progress.h"

namespace afore::cli {

namespace {

const char* g_tool = program_invocation_short_name;
bool g_quiet = false;

bool set(const char* variable) {
  const char* value = std::getenv(variable);
  return value != nullptr && *value != '\0';
}

// SGR codes of a label; null where there is none.
const char* colour_of(const std::string& level) {
  if (level == "error") return "\033[1;31m";
  if (level == "warning") return "\033[1;33m";
  return level == "hint" ? "\033[1;36m" : nullptr;
}

// One write per line: lines of the tools of one pipe share the terminal. `label` is ours and may hold escapes.
void put(const std::string& label, const std::string& said) {
  constexpr std::size_t kMost = 2000;  // a path or a list in it may be of any length
  const std::string text = said.size() > kMost ? said.substr(0, kMost) + "..." : said;
  erase_progress();
  const std::string line = std::string(g_tool) + ": " + label + printable(text) + "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

}  // namespace

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

void set_tool_name(const char* name) { g_tool = name; }
const char* tool_name() { return g_tool; }
bool& quiet() { return g_quiet; }

bool colours_stderr() {
  if (set("NO_COLOR")) return false;
  if (set("CLICOLOR_FORCE") && std::string(std::getenv("CLICOLOR_FORCE")) != "0") return true;
  const char* term = std::getenv("TERM");
  return isatty(STDERR_FILENO) == 1 && (term == nullptr || std::strcmp(term, "dumb") != 0);
}

void say_line(const std::string& text) { put("", text); }

void say(const std::string& level, const std::string& message) {
  const char* colour = colours_stderr() ? colour_of(level) : nullptr;
  put(colour == nullptr ? level + ": " : colour + level + ":\033[0m ", message);
}

void warn(const std::string& message) {
  if (!g_quiet) say("warning", message);
}

void note(const std::string& message) {
  if (!g_quiet) say("note", message);
}

}  // namespace afore::cli
