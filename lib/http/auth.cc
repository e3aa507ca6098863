#include "http/auth.h"

#include <cctype>

namespace afore::http {
namespace {

// The number of steps is the token's length, whatever was shown.
bool same(std::string_view shown, const std::string& token) {
  const std::string_view looked_at = shown.empty() ? std::string_view("\0", 1) : shown;
  volatile unsigned difference = shown.size() != token.size();
  std::size_t at = 0;
  for (const char expected : token) {
    difference = difference | static_cast<unsigned char>(expected ^ looked_at[at]);
    at = at + 1 < looked_at.size() ? at + 1 : 0;
  }
  return difference == 0;
}

}  // namespace

bool bears_token(std::string_view authorization, const std::string& token) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() < kScheme.size()) return false;
  for (std::size_t i = 0; i < kScheme.size(); ++i) {
    if (std::tolower(static_cast<unsigned char>(authorization[i])) != kScheme[i]) return false;
  }
  authorization.remove_prefix(kScheme.size());
  while (authorization.starts_with(' ')) authorization.remove_prefix(1);
  return same(authorization, token);
}

}  // namespace afore::http
