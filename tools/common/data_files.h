#pragma once
// Files that come with the tools: the bundled model and workloads.
#include <filesystem>
#include <string>

namespace afore::cli {

// `name` like "models/tiny", below $AFORE_DATA, else ../share/afore of the program, else the folder it was built from.
// Error{usage} naming the places when it is in none.
std::filesystem::path data_file(const std::string& name);

}  // namespace afore::cli
