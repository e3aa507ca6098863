#include "util/error.h"

namespace afore {

void check_failed(const char* condition, const char* what, const char* file, int line) {
  const std::string path(file);
  const std::string name = path.substr(path.find_last_of('/') + 1);
  throw Error(ErrorKind::internal,
              std::string(what) + " (" + condition + ", " + name + ":" + std::to_string(line) + ")",
              "this is a bug in afore; please report the command and its input");
}

}  // namespace afore
