#pragma once
// Which characters the terminal's locale can show.
#include "report/bars.h"

namespace afore::cli {

// UTF-8 when LC_ALL, else LC_CTYPE, else LANG (the first that is set and not empty) names it.
report::Charset locale_charset();

}  // namespace afore::cli
