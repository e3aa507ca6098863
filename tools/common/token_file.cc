#include "common/token_file.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {
namespace {

constexpr std::size_t kLeastBytes = 16, kMostBytes = 1024;

}  // namespace

std::string read_token(const std::string& path) {
  LineReader reader(path);
  reader.take_unended();
  std::string_view line;
  if (!reader.next(line)) throw Error(ErrorKind::usage, fmt::format("--token-file {}: the file is empty", path));
  std::string token(line);
  const bool printable = std::all_of(token.begin(), token.end(), [](unsigned char c) { return c > ' ' && c < 0x7f; });
  if (!printable)
    throw Error(ErrorKind::usage, fmt::format("--token-file {}: a token is of printable ASCII without spaces", path));
  if (token.size() < kLeastBytes || token.size() > kMostBytes)
    throw Error(ErrorKind::usage,
                fmt::format("--token-file {}: a token has {} to {} characters, not {}", path, kLeastBytes, kMostBytes,
                            token.size()),
                "openssl rand -hex 32 > FILE makes one");
  return token;
}

}  // namespace afore::cli
