#include "wire/sm_split.h"

#include "wire/decode.h"

namespace afore::wire {

SmSplit read_sm_split(JsonValue value) {
  value.expect(JsonType::object);
  for (const JsonValue member : value)
    if (member.key() != "gpu_sms" && member.key() != "worker_sms" && member.key() != "why_plain")
      member.fail("unknown key", "docs/migrate.md lists the keys of \"sm_partitions\"");
  ObjectReader object(value);
  SmSplit split;
  split.gpu_sms = object.required("gpu_sms").integer(1, kMaxIndex, "number of SMs");
  const JsonValue worker = object.required("worker_sms"), why = object.required("why_plain");
  if (worker.is_null() == why.is_null())
    worker.fail("either a partition has SMs, or there is a reason why there is none");
  if (why.is_null()) split.worker_sms = worker.integer(1, split.gpu_sms, "number of SMs");
  else split.why_plain = why.string();
  return split;
}

void write_sm_split(JsonWriter& json, const SmSplit& split) {
  json.open('{');
  json.integer("gpu_sms", split.gpu_sms);
  json.integer_or_null("worker_sms", split.worker_sms > 0 ? std::optional(split.worker_sms) : std::nullopt);
  json.string_or_null("why_plain", split.why_plain);
  json.close('}');
}

}  // namespace afore::wire
