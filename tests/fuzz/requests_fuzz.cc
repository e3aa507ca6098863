// Foreign files of afore-trace import: request traces in Azure's CSV and Mooncake's JSON lines, and SGLang's expert
// counts. The first byte chooses; what is accepted is in range and in order.
#include <algorithm>

#include "fuzz.h"
#include "wire/wire.h"

namespace afore {
namespace {

constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;

void check(const wire::TracedRequest& request) {
  FUZZ_CHECK(request.at_ns >= 0 && request.prompt_tokens > 0 && request.output_tokens > 0);
}

void azure(std::string_view text) {
  const auto requests = wire::parse_azure_csv({text.begin(), text.end()}, "azure.csv");
  for (std::size_t i = 0; i < requests.size(); ++i) {
    check(requests[i]);
    FUZZ_CHECK(i == 0 || requests[i - 1].at_ns <= requests[i].at_ns);
  }
}

void mooncake(std::string_view text) {
  for (std::int64_t line = 1; !text.empty(); ++line) {
    const std::string_view one = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    check(wire::parse_mooncake_line(one, "mooncake.jsonl", line));
  }
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  if (size == 0) return 0;
  const std::string_view text = fuzz::text_of(data + 1, size - 1);
  fuzz::refuses([&] {
    if (data[0] % 2 == 0) azure(text);
    else mooncake(text);
  });
  return 0;
}
