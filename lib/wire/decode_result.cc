// observed, operation, completion: what a run did.
#include <algorithm>

#include "wire/decode.h"

namespace afore::wire {

Observed decode_observed(ObjectReader& record, const DecodeContext& context) {
  Observed observed;
  observed.target = read_target(record, context);
  observed.seq = record.required("seq").integer();
  observed.ffn_ns = record.required("ffn_ns").integer();
  observed.migration_ns = record.required("migration_ns").integer();
  observed.window_ns = record.required("window_ns").integer(-kMaxInteger);  // a plan taken late has a negative one
  observed.exposed_ns = record.required("exposed_ns").integer();
  observed.slack_ns = record.required("slack_ns").integer();
  observed.slot_wait_ns = record.required("slot_wait_ns").integer();
  return observed;
}

Operation decode_operation(ObjectReader& record, const DecodeContext& context) {
  Operation operation;
  operation.worker = record.required("worker").string();
  operation.lane = record.required("lane").string();
  operation.op = record.required("op").string();
  operation.target.step = record.required("step").integer();
  // Any hidden layer: dense ones are executed too.
  const std::int64_t layers = context.header ? context.header->model.layers : kAbsent;
  operation.target.layer = record.required("layer").index(layers == kAbsent ? kMaxIndex : layers, "layer");
  operation.target.microbatch = record.required("microbatch").index(kMaxIndex, "microbatch");
  operation.start_ns = record.required("start_ns").integer();
  const JsonValue end = record.required("end_ns");
  operation.end_ns = end.integer();
  if (operation.end_ns < operation.start_ns) end.fail("the operation ends before it starts");
  return operation;
}

Completion decode_completion(ObjectReader& record) {
  Completion completion;
  completion.id = record.required("id").string();
  completion.prompt_tokens = record.required("prompt_tokens").integer();
  completion.output_tokens = record.required("output_tokens").integer();
  const JsonValue reason = record.required("finish_reason");
  completion.finish_reason = reason.string();
  const char* const kReasons[] = {"stop", "length", "timeout", "cancelled", "rejected"};
  if (std::find(std::begin(kReasons), std::end(kReasons), completion.finish_reason) == std::end(kReasons))
    reason.fail("unknown finish_reason " + in_quotes(completion.finish_reason),
                "reasons are stop, length, timeout, cancelled and rejected");
  if (const JsonValue why = record.find("reject_reason")) completion.reject_reason = why.string();
  if (const JsonValue arrival = record.find("arrival_ns")) {
    CompletionTimes& times = completion.times.emplace();
    times.arrival_ns = arrival.integer();
    const JsonValue first = record.find("first_token_ns");
    if (first && !first.is_null())
      times.first_token_ns = first.integer(times.arrival_ns, kMaxInteger, "first_token_ns");
    times.finished_ns = record.required("finished_ns")
                            .integer(times.first_token_ns.value_or(times.arrival_ns), kMaxInteger, "finished_ns");
  }
  if (const JsonValue ids = record.find("token_ids")) completion.token_ids = read_counts(ids, "token id");
  if (const JsonValue text = record.find("text")) completion.text = text.string();
  return completion;
}

}  // namespace afore::wire
