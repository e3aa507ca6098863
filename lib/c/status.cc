#include <cstdio>

#include "c/internal.h"

namespace afore::c {

void ErrorLine::say(const char* fact, const char* hint) noexcept {
  std::snprintf(text, sizeof text, "%s%s%s", fact, *hint == '\0' ? "" : "; ", hint);
  for (char& c : text)
    if (c == '\n') c = ' ';
}

ErrorLine& thread_error() noexcept {
  thread_local ErrorLine error;
  return error;
}

int status_of(const Error& error, int usage) noexcept {
  switch (error.kind()) {
    case ErrorKind::usage: return usage;
    case ErrorKind::data: return AFORE_E_DATA;
    case ErrorKind::io:
    case ErrorKind::answer_no:
    case ErrorKind::internal:
    case ErrorKind::interrupted: break;
  }
  return AFORE_E_INTERNAL;
}

}  // namespace afore::c

const char* afore_version(void) { return AFORE_VERSION; }

int afore_abi_version(void) { return AFORE_ABI_VERSION; }

const char* afore_status_text(int status) {
  switch (status) {
    case AFORE_OK: return "done";
    case AFORE_E_ARGUMENT: return "an argument cannot be";
    case AFORE_E_CONFIG: return "the config cannot be planned with";
    case AFORE_E_DATA: return "the data cannot be";
    case AFORE_E_STATE: return "not in this state";
    case AFORE_E_CAPACITY: return "too little room";
    case AFORE_E_TIMEOUT: return "not in time";
    case AFORE_E_DAMAGED: return "the ring's memory is damaged";
    case AFORE_E_LOST: return "the reader was dropped";
    case AFORE_E_MEMORY: return "no memory is left";
    case AFORE_E_INTERNAL: return "a bug of the library";
    default: return "an unknown status";
  }
}
