#pragma once
// The keys that completions and chats have in common: sampling, delivery, and those that must not ask for anything.
#include <cstdint>
#include <optional>

#include "wire/json_tree.h"
#include "wire/openai/request.h"

namespace afore::wire::openai {

class OptionsReader {
 public:
  OptionsReader(Sampling& sampling, Delivery& delivery) : sampling_(sampling), delivery_(delivery) {}
  void read(JsonValue member);  // not null; keys that are not known are ignored
  void finish();                // after the last member

 private:
  bool read_sampling(JsonValue member);
  bool read_delivery(JsonValue member);

  Sampling& sampling_;
  Delivery& delivery_;
  std::optional<std::int64_t> max_completion_tokens_;
  std::int64_t min_tokens_ = 0;
};

}  // namespace afore::wire::openai
