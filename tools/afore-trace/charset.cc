#include "charset.h"

#include <cstdlib>
#include <string>

namespace afore::cli {

report::Charset locale_charset() {
  for (const char* variable : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    const char* value = std::getenv(variable);
    if (value == nullptr || *value == '\0') continue;
    std::string name = value;
    for (char& c : name)
      if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool utf8 = name.find("utf-8") != std::string::npos || name.find("utf8") != std::string::npos;
    return utf8 ? report::Charset::utf8 : report::Charset::ascii;
  }
  return report::Charset::ascii;
}

}  // namespace afore::cli
