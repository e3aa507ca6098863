#include "milp.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <optional>
#include <sstream>
#include <stdexcept>

namespace afore::test {
namespace {

std::string program() {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path == nullptr ? "" : path);
  for (std::string folder; std::getline(folders, folder, ':');)
    if (const std::string name = folder + "/cbc"; ::access(name.c_str(), X_OK) == 0) return name;
  return "";
}

// A name in `words`, and standard output to `log`.
int run(std::vector<std::string> words, const std::string& log) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const pid_t child = ::fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) {
    const int out = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666);
    if (out < 0 || ::dup2(out, STDOUT_FILENO) < 0 || ::dup2(out, STDERR_FILENO) < 0) ::_exit(126);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// "Lower bound:   6.500" of the report; CBC prints it only where the search was cut short.
std::optional<double> reported_bound(const std::string& log) {
  constexpr std::string_view kLabel = "\nLower bound:";
  const std::size_t at = log.rfind(kLabel);
  if (at == std::string::npos) return std::nullopt;
  return std::strtod(log.c_str() + at + kLabel.size(), nullptr);
}

}  // namespace

int Milp::add_variable(std::int64_t most) {
  most_.push_back(most);
  return variables() - 1;
}

std::string Milp::lp() const {
  std::string text = fmt::format("Minimize\n obj: v{}\nSubject To\n", objective_);
  // One term a line: CBC's reader has a longest line.
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    text += fmt::format(" r{}:", i);
    for (const Term& term : rows_[i].terms) text += fmt::format(" {:+d} v{}\n", term.factor, term.variable);
    text += fmt::format(" {} {}\n", rows_[i].sense, rows_[i].limit);
  }
  text += "Bounds\n";
  for (int i = 0; i < variables(); ++i) text += fmt::format(" 0 <= v{} <= {}\n", i, most_[i]);
  text += "Generals\n";
  for (int i = 0; i < variables(); ++i) text += fmt::format(" v{}\n", i);
  return text + "End\n";
}

Cbc::Cbc() {
  std::string name = (std::filesystem::temp_directory_path() / "afore_milp_XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no scratch folder");
  folder_ = name;
}

Cbc::~Cbc() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

bool Cbc::installed() { return !program().empty(); }

MilpAnswer Cbc::solve(const Milp& problem, int nodes, double seconds) const {
  const std::string model = folder_ / "model.lp", solution = folder_ / "solution", log = folder_ / "log";
  std::ofstream(model, std::ios::binary) << problem.lp();
  std::filesystem::remove(solution);
  const int code = run({program(), model, "-ratioGap", "0", "-allowableGap", "0", "-maxNodes", std::to_string(nodes),
                        "-seconds", fmt::format("{:.3f}", seconds), "-solve", "-solution", solution},
                       log);
  std::ifstream log_file(log), in(solution);
  const std::string report{std::istreambuf_iterator<char>(log_file), {}};
  std::string head;
  if (code != 0 || !std::getline(in, head))
    throw std::runtime_error(fmt::format("cbc ended with {}:\n{}", code, report));

  MilpAnswer answer;
  if (head.starts_with("Infeasible") || head.starts_with("Integer infeasible")) {
    answer.state = MilpAnswer::State::infeasible;
    return answer;
  }
  if (head.starts_with("Optimal")) {
    answer.state = MilpAnswer::State::optimal;
    answer.bound = std::strtod(head.c_str() + head.rfind(' '), nullptr);
  } else if (head.starts_with("Stopped")) {
    answer.bound = reported_bound(report).value_or(0);
    if (head.find("no integer solution") != std::string::npos) return answer;
  } else {
    throw std::runtime_error("cbc says: " + head);
  }
  // "index name value reduced-cost"; zeros are left out, and ** marks what violates a bound.
  answer.values.assign(problem.variables(), 0);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line.substr(line.find_first_not_of("* ")));
    int index = 0;
    std::string name;
    double value = 0;
    if (!(words >> index >> name >> value) || name.size() < 2) throw std::runtime_error("cbc's solution: " + line);
    answer.values.at(std::stoul(name.substr(1))) = value;
  }
  return answer;
}

}  // namespace afore::test
