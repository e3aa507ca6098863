#pragma once
// --report FILE: a page of pictures beside whatever a command writes.
#include <string>

#include "common/options.h"

namespace afore::cli {

void add_report(Command app, std::string& path);

// Error{io} when `path` exists or cannot be written, asked before long work. An empty path is fine.
void check_report(const std::string& path);
void publish_report(const std::string& path, const std::string& html);

}  // namespace afore::cli
