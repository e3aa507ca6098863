// Lines of a stream through the decoder of all tools. What decodes, encodes to a line that decodes to the same record
// under the same stream so far; both ways of decoding agree; and a header line can be extended as the filters do it.
#include <algorithm>
#include <type_traits>
#include <variant>

#include "fuzz.h"
#include "wire/wire.h"

namespace afore {
namespace {

// Empty for kinds that are only passed through.
std::string encode(const Record& record) {
  return std::visit(
      [](const auto& value) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, UnknownRecord>) return "";
        else return wire::to_json(value);
      },
      record);
}

void check_extended(std::string_view line) {
  std::string extended;
  Header gained;
  gained.cluster.microbatches = 3;
  // A header whose microbatches are others refuses.
  if (fuzz::refuses([&] { extended = wire::extend_header(line, gained, "fuzz"); })) return;
  wire::RecordDecoder decoder("extended");
  const Header header = std::get<Header>(decoder.decode(extended, 1));
  FUZZ_CHECK(header.cluster.microbatches == 3 && header.via.back() == "fuzz");
  wire::RecordDecoder bare("without planner");
  FUZZ_CHECK(!std::get<Header>(bare.decode(wire::without_planner(extended), 1)).planner);
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  std::string_view rest = fuzz::text_of(data, size);
  if (rest.empty()) return 0;
  // The first byte's lowest bits stand for the flags that change reading, and for the slower checks.
  wire::ReadOptions options;
  options.allow_drop = (rest[0] & 1) != 0;
  if ((rest[0] & 2) != 0) options.top_k = 2;
  const bool extend = (rest[0] & 4) != 0;
  rest.remove_prefix(1);
  int refused = 0;  // tools stop at the first; going on a little shows that the decoder's state stays whole
  wire::RecordDecoder decoder("stdin", options), direct("stdin", options), mirror("mirror", options);
  Record record, directly;
  for (std::int64_t line_number = 1; !rest.empty() && refused < 3; ++line_number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    std::string error, direct_error;
    const bool refuses = fuzz::refuses([&] { record = decoder.decode(line, line_number); }, &error);
    FUZZ_CHECK(fuzz::refuses([&] { direct.decode(line, line_number, directly); }, &direct_error) == refuses);
    FUZZ_CHECK(direct_error == error);
    if (refuses) {
      ++refused;
      continue;
    }
    const std::string encoded = encode(record);
    FUZZ_CHECK(encode(directly) == encoded);
    FUZZ_CHECK(encoded.find('\n') == std::string::npos);
    const bool header = std::holds_alternative<Header>(record);
    // Unknown kinds count as records before a header, too. A header is encoded with its seed, which a later one may
    // not contradict, so the stream goes on from the line as it was.
    if (header || encoded.empty()) mirror.decode(line, line_number);
    wire::RecordDecoder alone("alone");
    if (!encoded.empty()) FUZZ_CHECK(encode((header ? alone : mirror).decode(encoded, line_number)) == encoded);
    if (extend && header) check_extended(line);
  }
  return 0;
}
