// sequence and request as one line each.
#include "wire/base64.h"
#include "wire/json_writer.h"
#include "wire/wire.h"

namespace afore::wire {

std::string to_json(const SequenceRecord& sequence) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "sequence");
  json.string("id", sequence.id);
  json.integer("tokens", sequence.tokens);
  json.integer("prompt_tokens", sequence.prompt_tokens);
  json.key("experts");
  out += '"';
  append_base64(out, sequence.experts);
  out += '"';
  json.close('}');
  return out;
}

std::string to_json(const RequestRecord& request) {
  std::string out;
  JsonWriter json(out);
  json.open('{');
  json.string("kind", "request");
  json.string("id", request.id);
  json.integer("arrival_ns", request.arrival_ns);
  json.integer("prompt_tokens", request.prompt_tokens);
  json.integer("output_tokens", request.output_tokens);
  json.string("sequence", request.sequence);
  json.integer("offset", request.offset);
  json.close('}');
  return out;
}

}  // namespace afore::wire
