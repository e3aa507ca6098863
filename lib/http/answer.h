#pragma once
// Answers, and how they stand on the wire.
#include <string>
#include <string_view>

#include "http/request.h"
#include "http/router.h"

namespace afore::http {

struct Answer {
  int status = 200;
  std::string_view content_type = "application/json";
  std::string body{};
  std::string fields{};  // more header lines, each with its line break
  bool close = false;  // the connection has no further request to offer
};

// With the error object of OpenAI's API. `message` is for the client, `code` and `param` may be empty.
Answer error_answer(int status, std::string_view message, std::string_view code = {}, std::string_view param = {});
Answer busy_answer(std::string_view message);  // 429, to be tried again soon
Answer draining_answer();                      // 503

// What a head says besides the answer.
struct HeadTerms {
  std::string request_id;
  bool http10 = false;
  bool keep_alive = true;
};

enum class Framing { length, chunked, until_close };

// A request's own id where it is a sane one, else `fresh`.
std::string_view request_id_or(std::string_view sent, std::string_view fresh);

void append_head(std::string& out, const Answer& answer, const HeadTerms& terms, Framing framing);
void append_chunk(std::string& out, std::string_view bytes);  // `bytes` not empty
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace afore::http
