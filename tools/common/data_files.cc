#include "common/data_files.h"

#include <cstdlib>
#include <vector>

#include "util/error.h"

namespace afore::cli {

std::filesystem::path data_file(const std::string& name) {
  std::vector<std::filesystem::path> roots;
  if (const char* given = std::getenv("AFORE_DATA"); given != nullptr && *given != '\0') {
    roots.emplace_back(given);
  } else {
    std::error_code error;
    const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
    if (!error) roots.push_back(program.parent_path().parent_path() / "share" / "afore");
    roots.emplace_back(AFORE_SOURCE_DIR);
  }
  std::string tried;
  for (const std::filesystem::path& root : roots) {
    std::error_code error;
    if (std::filesystem::exists(root / name, error)) return root / name;
    tried += (tried.empty() ? "" : ", ") + root.string();
  }
  throw Error(ErrorKind::usage, "the bundled " + name + " is not in " + tried,
              "set AFORE_DATA to the folder that has it, or name your own with --model or --prompts");
}

}  // namespace afore::cli
