#pragma once
// What the functions of afore.h share: how a failure becomes a code and a line, and structs whose size the caller says.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

#include "c/afore.h"
#include "util/error.h"

namespace afore::c {

// One line of limited length: telling that there is no memory takes none.
struct ErrorLine {
  char text[512] = "";

  void say(const char* fact, const char* hint = "") noexcept;
  // The same, and the code.
  int fail(int status, const char* fact, const char* hint = "") noexcept {
    say(fact, hint);
    return status;
  }
};

// Of calls without a planner, by thread.
ErrorLine& thread_error() noexcept;

// A fact that a caller got wrong, with its code: thrown within this room only.
struct Refusal {
  int status;
  const char* fact;
};

// `usage`: what ErrorKind::usage means to this call.
int status_of(const Error& error, int usage) noexcept;

// Runs `call`, which returns a code or a count (+ 0: a code is an enumerator); no exception leaves.
template <class Call>
auto guarded(ErrorLine& error, int usage, Call&& call) noexcept -> decltype(call() + 0) {
  try {
    return call();
  } catch (const Refusal& refusal) {
    return error.fail(refusal.status, refusal.fact);
  } catch (const Error& e) {
    return error.fail(status_of(e, usage), e.what(), e.hint().c_str());
  } catch (const std::bad_alloc&) {
    return error.fail(AFORE_E_MEMORY, "no memory is left");
  } catch (const std::length_error&) {
    return error.fail(AFORE_E_MEMORY, "a size is beyond memory");
  } catch (const std::exception& e) {
    return error.fail(AFORE_E_INTERNAL, e.what());
  } catch (...) {
    return error.fail(AFORE_E_INTERNAL, "an exception of unknown kind");
  }
}

inline void refuse_unless(bool holds, int status, const char* fact) {
  if (!holds) throw Refusal{status, fact};
}

// No struct of this interface will be larger: what says so was not set.
constexpr std::uint32_t kMostStructBytes = 4096;

inline bool size_fits(std::uint32_t struct_size, std::size_t least) {
  return struct_size >= least && struct_size <= kMostStructBytes && struct_size % 8 == 0;
}

// Into a caller's struct of `to_size` bytes; what a newer caller has beyond is 0.
template <class T>
void copy_sized(void* to, std::uint32_t to_size, const T& from) {
  const std::size_t common = to_size < sizeof(T) ? to_size : sizeof(T);
  std::memcpy(to, &from, common);
  std::memset(static_cast<char*>(to) + common, 0, to_size - common);
  std::memcpy(to, &to_size, sizeof to_size);  // both structs begin with it
}

}  // namespace afore::c
