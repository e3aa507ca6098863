#pragma once
// Runs a tool as a user would, in a scratch folder of its own, and says how it ended.
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace afore::test {

struct Ended {
  int code = 0, signal = 0;
  std::string out, err;
};

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

class ToolRun {
 public:
  explicit ToolRun(std::string bin) : bin_(std::move(bin)) {
    std::string name = (std::filesystem::temp_directory_path() / "afore_tool_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
    folder_ = name;
  }
  ~ToolRun() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  ToolRun(const ToolRun&) = delete;
  ToolRun& operator=(const ToolRun&) = delete;

  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    return file(name);
  }

  // `command`: tool and arguments; `input`: a file for standard input, or "".
  Ended run(const std::vector<std::string>& command, const std::string& input,
            const std::map<std::string, std::string>& environment = {}) const {
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("fork failed");
    if (child == 0) start(command, input, environment);
    int status = 0;
    ::waitpid(child, &status, 0);
    Ended ended;
    if (WIFEXITED(status)) ended.code = WEXITSTATUS(status);
    else ended.signal = WTERMSIG(status);
    ended.out = read_text(file("out"));
    ended.err = read_text(file("err"));
    return ended;
  }

 private:
  [[noreturn]] void start(std::vector<std::string> command, const std::string& input,
                          const std::map<std::string, std::string>& environment) const {
    const rlimit seconds{60, 60};  // of computing, so that a loop without an end becomes a signal
    ::setrlimit(RLIMIT_CPU, &seconds);
    const auto open_as = [](const std::string& path, int flags, int as) {
      const int got = ::open(path.c_str(), flags, 0666);
      if (got < 0 || ::dup2(got, as) < 0) ::_exit(126);
      ::close(got);
    };
    open_as(input.empty() ? "/dev/null" : input, O_RDONLY, STDIN_FILENO);
    open_as(file("out"), O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    open_as(file("err"), O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
    command[0] = bin_ + "/" + command[0];
    std::vector<char*> arguments;
    for (std::string& word : command) arguments.push_back(word.data());
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }

  std::string bin_;
  std::filesystem::path folder_;
};

}  // namespace afore::test
