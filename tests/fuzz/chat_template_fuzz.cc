// A chat template, a zero byte, and the messages of a conversation: roles and contents by turns, a zero byte between.
// What is accepted gives the same text twice, or the same refusal.
#include <vector>

#include "fuzz.h"
#include "nn/chat_template.h"
#include "nn/utf8.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  std::string_view input = fuzz::text_of(data, size);
  const auto part = [&input] {
    const std::size_t zero = std::min(input.find('\0'), input.size());
    const std::string_view text = input.substr(0, zero);
    input.remove_prefix(std::min(zero + 1, input.size()));
    return text;
  };
  const std::string_view text = part();
  std::vector<nn::ChatMessage> messages;
  while (!input.empty()) {
    const std::string_view role = part(), content = part();
    messages.push_back({std::string(role), std::string(content)});
  }
  fuzz::refuses([&] {
    const nn::ChatTemplate chat(text, "<s>", "</s>", "chat_template.jinja");
    std::string first, second, refusal, again;
    const bool refused = fuzz::refuses([&] { first = chat.render(messages, true); }, &refusal);
    FUZZ_CHECK(refused == fuzz::refuses([&] { second = chat.render(messages, true); }, &again));
    FUZZ_CHECK(first == second && refusal == again);
    FUZZ_CHECK(nn::utf8_prefix(first) == first.size());
  });
  return 0;
}
