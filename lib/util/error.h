#pragma once
// The one error type the library throws, and the check for our own bugs.
// Tools catch it in one place (tools/common) and map `kind` to the exit code.
#include <stdexcept>
#include <string>

namespace afore {

enum class ErrorKind {
  answer_no,    // exit 1: the question was answered, and the answer is no
  usage,        // exit 2: the command line is wrong
  data,         // exit 3: input data is wrong
  io,           // exit 4: a file, pipe or peer failed
  internal,     // exit 5: an invariant of ours is broken
  interrupted,  // exit 130/143: a signal ended the run
};

class Error : public std::runtime_error {
 public:
  // `message` is one line without the tool's name: "stdin:17: /counts/3: count is negative".
  // `hint` (optional) says what the user can do about it; printed on a second line.
  Error(ErrorKind kind, const std::string& message, std::string hint = "")
      : std::runtime_error(message), kind_(kind), hint_(std::move(hint)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  std::string hint_;
};

[[noreturn]] void check_failed(const char* condition, const char* what, const char* file, int line);

}  // namespace afore

// Our own invariants, checked in release builds too. Throws Error{internal}.
#define AFORE_CHECK(condition, what)                                               \
  do {                                                                             \
    if (!(condition)) ::afore::check_failed(#condition, what, __FILE__, __LINE__); \
  } while (false)
