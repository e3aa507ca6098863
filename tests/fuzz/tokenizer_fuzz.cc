// tokenizer.json and text: the input is a JSON object that is merged (RFC 7386) into a small right file, a zero byte,
// and the text. What is accepted encodes to ids of the vocabulary; streamed text is decoded text; and without changes
// to the file, no byte of the text is lost.
#include <nlohmann/json.hpp>
#include <vector>

#include "fuzz.h"
#include "nn/byte_level.h"
#include "nn/tokenizer.h"
#include "nn/utf8.h"

namespace afore {
namespace {

using nlohmann::json;

json small_file() {
  json vocab;
  for (int byte = 0; byte < 256; ++byte) vocab[nn::token_of_byte(static_cast<unsigned char>(byte))] = byte;
  int id = 256;
  for (const char* token : {"ab", "abc", "bc", "aa", "aaaa"}) vocab[token] = id++;
  const json bytes = {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const json end = {{"id", 261}, {"content", "<e>"}, {"special", true}};
  return {{"added_tokens", {end}},
          {"pre_tokenizer", bytes},
          {"decoder", bytes},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", {"a b", "ab c", "b c", "a a", "aa aa"}}}}};
}

void check_stream(const nn::Tokenizer& tokenizer, const std::vector<int>& ids) {
  nn::TokenStream stream(tokenizer);
  std::string joined;
  for (const int id : ids) {
    const std::string part = stream.push(id);
    FUZZ_CHECK(nn::utf8_prefix(part) == part.size());
    joined += part;
  }
  joined += stream.finish();
  FUZZ_CHECK(joined == tokenizer.decode(ids));
}

void check_text(const nn::Tokenizer& tokenizer, std::string_view text, bool changed) {
  const std::vector<int> ids = tokenizer.encode(text);
  for (const int id : ids) FUZZ_CHECK(id >= 0 && id < tokenizer.size());
  check_stream(tokenizer, ids);
  // The text as ids of any kind, too, so that decoding sees broken code points.
  check_stream(tokenizer, {text.begin(), text.end()});
  if (changed || text.find("<e>") != text.npos) return;
  std::string held(text), whole;
  nn::take_text(held, true, whole);
  FUZZ_CHECK(tokenizer.decode(ids) == whole);
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  const std::string_view input = fuzz::text_of(data, size);
  const std::size_t zero = std::min(input.find('\0'), input.size());
  const std::string_view change = input.substr(0, zero), text = input.substr(std::min(zero + 1, input.size()));
  fuzz::refuses([&] {
    static const json base = small_file();
    json file = base;
    const json patch = json::parse(change, nullptr, false);
    if (!patch.is_discarded()) file.merge_patch(patch);
    // What is no JSON is seen by the reader itself.
    const std::string written = patch.is_discarded() && !change.empty() ? std::string(change) : file.dump();
    const nn::Tokenizer tokenizer(written, "tokenizer.json");
    check_text(tokenizer, text, file != base);
  });
  return 0;
}
