#pragma once
#include <string>

namespace afore::cli {

// The first line of FILE. Error{io}; Error{usage} for what cannot stand in a header, or is too short to be a secret.
std::string read_token(const std::string& path);

}  // namespace afore::cli
