#include "http/answer.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "util/error.h"
#include "wire/openai/response.h"

namespace afore::http {
namespace {

using wire::openai::Fault;

struct Status {
  int number;
  const char* reason;
  Fault fault;  // of the error object
};
constexpr Status kStatuses[] = {
    {200, "OK", Fault::server},
    {400, "Bad Request", Fault::invalid_request},
    {401, "Unauthorized", Fault::authentication},
    {403, "Forbidden", Fault::authentication},
    {404, "Not Found", Fault::not_found},
    {405, "Method Not Allowed", Fault::invalid_request},
    {408, "Request Timeout", Fault::invalid_request},
    {413, "Content Too Large", Fault::invalid_request},
    {414, "URI Too Long", Fault::invalid_request},
    {417, "Expectation Failed", Fault::invalid_request},
    {429, "Too Many Requests", Fault::rate_limit},
    {431, "Request Header Fields Too Large", Fault::invalid_request},
    {500, "Internal Server Error", Fault::server},
    {501, "Not Implemented", Fault::invalid_request},
    {503, "Service Unavailable", Fault::unavailable},
    {505, "HTTP Version Not Supported", Fault::invalid_request},
};

const Status& status_of(int number) {
  const auto* const found =
      std::find_if(std::begin(kStatuses), std::end(kStatuses), [&](const Status& s) { return s.number == number; });
  AFORE_CHECK(found != std::end(kStatuses), "a status of the table");
  return *found;
}

}  // namespace

Answer error_answer(int status, std::string_view message, std::string_view code, std::string_view param) {
  Answer answer{.status = status};
  wire::openai::append_error(answer.body, status_of(status).fault, message, param, code);
  return answer;
}

Answer busy_answer(std::string_view message) {
  Answer answer = error_answer(429, message, "rate_limit_exceeded");
  answer.fields = "retry-after: 1\r\n";
  return answer;
}

Answer draining_answer() {
  Answer answer = error_answer(503, "the server is shutting down");
  answer.close = true;
  return answer;
}

std::string_view request_id_or(std::string_view sent, std::string_view fresh) {
  const bool sane = !sent.empty() && sent.size() <= 128 &&
                    std::all_of(sent.begin(), sent.end(), [](char c) { return c >= ' ' && c <= '~'; });
  return sane ? sent : fresh;
}

void append_head(std::string& out, const Answer& answer, const HeadTerms& terms, Framing framing) {
  const Status& status = status_of(answer.status);
  fmt::format_to(std::back_inserter(out), "HTTP/1.1 {} {}\r\nserver: afore\r\ncontent-type: {}\r\nx-request-id: {}\r\n",
                 status.number, status.reason, answer.content_type, terms.request_id);
  out += answer.fields;
  if (framing == Framing::length) fmt::format_to(std::back_inserter(out), "content-length: {}\r\n", answer.body.size());
  if (framing == Framing::chunked) out += "transfer-encoding: chunked\r\n";
  if (!terms.keep_alive) out += "connection: close\r\n";
  else if (terms.http10) out += "connection: keep-alive\r\n";
  out += "\r\n";
}

void append_chunk(std::string& out, std::string_view bytes) {
  fmt::format_to(std::back_inserter(out), "{:x}\r\n", bytes.size());
  out += bytes;
  out += "\r\n";
}

}  // namespace afore::http
