// A request's way without its socket: bytes, in pieces, to a header, a route, access, a body, a template and tokens.
// The first byte says how the rest is cut, the second whether there is a token; however it is cut, the request is the
// same. What reaches the model is what the model may be given.

#include "../support/byte_tokenizer.h"
#include "fuzz.h"
#include "http/decode.h"
#include "http/front.h"
#include "http/request_parser.h"
#include "wire/json_tree.h"

namespace afore {
namespace {

using http::RequestParser;

// A model that is only asked what it is.
class Asked final : public http::Backend {
 public:
  const http::ModelCard& model() const override { return card_; }
  const nn::Tokenizer& tokenizer() const override { return tokenizer_; }
  const nn::ChatTemplate* chat_template() const override { return &template_; }
  host::Submission submit(const std::string&, host::Prompt, std::int64_t, std::shared_ptr<http::Listener>) override {
    return host::Submission::full;
  }
  void cancel(const std::string&) override {}
  std::string not_ready() const override { return ""; }
  std::string metrics() override { return ""; }
  std::string placement() override { return ""; }
  void set_frozen(bool) override {}
  void set_policy(const std::string& policy) override {
    if (policy != "afore") throw Error(ErrorKind::usage, "there is no such policy");
  }
  void subscribe(LineSink) override {}

 private:
  http::ModelCard card_{"m", 0, 64};
  nn::Tokenizer tokenizer_ = byte_tokenizer();
  nn::ChatTemplate template_{"{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}", "", "", "template"};
};

// As lib/http/connection.cc feeds it: `piece` bytes more whenever the parser takes none.
void feed(RequestParser& parser, std::string_view bytes, std::size_t piece) {
  std::string held;
  std::size_t next = 0;
  for (;;) {
    const std::size_t taken = parser.feed(held);
    FUZZ_CHECK(taken <= held.size());
    held.erase(0, taken);
    if (parser.state() == RequestParser::State::done || parser.state() == RequestParser::State::refused) return;
    if (taken > 0 && !held.empty()) continue;
    if (next == bytes.size()) return;
    const std::string_view more = bytes.substr(next, piece);
    held += more;
    next += more.size();
  }
}

void check_answer(const http::Answer& answer) {
  std::string head;
  http::append_head(head, answer, {.request_id = "r"}, http::Framing::length);
  wire::JsonTree().parse(answer.body, "answer");
  FUZZ_CHECK(head.find("\r\n\r\n") == head.size() - 4);
}

void check_generation(const http::GenerationRequest& request) {
  const auto tokens = static_cast<std::int64_t>(request.prompt.token_ids.size());
  FUZZ_CHECK(tokens >= 1 && request.max_tokens >= 1 && tokens + request.max_tokens <= 64);
  for (const int id : request.prompt.token_ids) FUZZ_CHECK(id >= 0 && id < 256);
  FUZZ_CHECK(request.prompt.temperature >= 0 && request.prompt.temperature <= 2);
  FUZZ_CHECK(request.prompt.top_p > 0 && request.prompt.top_p <= 1);
  for (const std::string& stop : request.prompt.stop) FUZZ_CHECK(!stop.empty());
}

void follow(const http::Request& request, bool token) {
  static Asked model;
  const http::Front front = http::look_at(request, token ? "t" : "");
  if (front.answer) return check_answer(*front.answer);
  if (request.method != http::Method::post || front.route == http::Route::flush_cache) return;
  const http::Decoded decoded = http::decode(front.route, request.body, model, 1);
  if (const auto* answer = std::get_if<http::Answer>(&decoded)) check_answer(*answer);
  else check_generation(std::get<http::GenerationRequest>(decoded));
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  if (size < 2) return 0;
  http::Limits limits;  // in reach of short inputs
  limits.request_line_bytes = 64;
  limits.header_bytes = 256;
  limits.header_fields = 12;
  limits.body_bytes = 200;
  const std::string_view bytes = fuzz::text_of(data, size).substr(2);
  RequestParser whole(limits), cut(limits);
  feed(whole, bytes, bytes.size());
  feed(cut, bytes, data[0] % 16 + 1u);
  // What is wrong with half a header may be seen only when the other half is there, for which there is a deadline.
  FUZZ_CHECK((whole.state() == RequestParser::State::done) == (cut.state() == RequestParser::State::done));
  if (whole.state() == RequestParser::State::refused) {
    check_answer(http::refusal_answer(whole.refusal()));
    return 0;
  }
  if (whole.state() != RequestParser::State::done) return 0;
  FUZZ_CHECK(whole.request().body == cut.request().body && whole.request().path == cut.request().path);
  FUZZ_CHECK(whole.request().keep_alive == cut.request().keep_alive);
  FUZZ_CHECK(whole.request().body.size() <= limits.body_bytes);
  follow(whole.request(), data[1] % 2 != 0);
  return 0;
}
