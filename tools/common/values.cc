// What is refused of a whole command line before its command runs.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "common/cli_internal.h"
#include "common/command_line.h"
#include "util/error.h"

namespace afore::cli {
namespace {

namespace fs = std::filesystem;

// For as long as the program's only command line lives.
std::vector<CLI::Option*>& written_beside_stdout() {
  static std::vector<CLI::Option*> options;
  return options;
}

// Where `name` leads, through links in its folders: what is written does not exist yet.
fs::path place_of(const std::string& name) {
  std::error_code error;
  const fs::path path = fs::absolute(name, error);
  const fs::path place = fs::weakly_canonical(path, error);
  return error ? path.lexically_normal() : place;
}

void refuse_empty(Option option) {
  if (!takes_value(option)) return;
  const std::vector<std::string> values = values_of(option);
  if (std::find(values.begin(), values.end(), "") != values.end())
    throw Error(ErrorKind::usage, option.name() + ": the value is empty",
                "leave it out, or give a value; is a variable of the shell unset?");
}

using Written = std::pair<Option, fs::path>;

void refuse_one_file(const std::vector<Written>& files) {
  for (std::size_t i = 0; i < files.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (files[i].second == files[j].second)
        throw Error(ErrorKind::usage,
                    fmt::format("{} and {} name the same file: {}", files[j].first.name(), files[i].first.name(),
                                values_of(files[i].first).front()),
                    "give each a name of its own");
}

}  // namespace

Option Option::beside_stdout() {
  written_beside_stdout().push_back(option_);
  return *this;
}

void refuse_values(Command command) {
  std::vector<Written> files;
  for (const Option option : command.options()) {
    if (!option.given()) continue;
    refuse_empty(option);
    const std::vector<CLI::Option*>& beside = written_beside_stdout();
    if (std::find(beside.begin(), beside.end(), option.get()) == beside.end()) continue;
    const std::string name = values_of(option).front();
    if (name == "-")
      throw Error(ErrorKind::usage, option.name() + " -: standard output has the command's own output",
                  "give the name of a file");
    files.emplace_back(option, place_of(name));
  }
  refuse_one_file(files);
  for (const Command sub : command.given_commands()) refuse_values(sub);
}

}  // namespace afore::cli
