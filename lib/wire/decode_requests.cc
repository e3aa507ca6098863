// sequence, request: what arrives, and the routing it reads.
#include <algorithm>

#include "wire/base64.h"
#include "wire/decode.h"
#include "wire/limits.h"

namespace afore::wire {
namespace {

std::vector<std::uint8_t> read_experts(JsonValue text, std::int64_t tokens, const ModelSpec& model) {
  std::vector<std::uint8_t> ids;
  if (!decode_base64(text.string(), ids)) text.fail("the text is not canonical base64");
  const auto layers = static_cast<std::int64_t>(model.moe_layers.size());
  const auto size = static_cast<std::int64_t>(ids.size());
  if (size % (layers * model.top_k) != 0 || size / (layers * model.top_k) != tokens)
    text.fail("there are " + std::to_string(size) + " ids, not " + std::to_string(tokens) + " tokens x " +
              std::to_string(layers) + " MoE layers x top_k " + std::to_string(model.top_k));
  const auto beyond = std::find_if(ids.begin(), ids.end(), [&](std::uint8_t id) { return id >= model.experts; });
  if (beyond != ids.end())
    text.fail("id " + std::to_string(beyond - ids.begin()) + " is expert " + std::to_string(*beyond) +
              ", the model has " + std::to_string(model.experts));
  for (auto row = ids.begin(); row != ids.end(); row += model.top_k)
    for (auto id = row; id != row + model.top_k; ++id)
      if (std::find(row, id, *id) != id)
        text.fail("token " + std::to_string((id - ids.begin()) / (layers * model.top_k)) + " chooses expert " +
                  std::to_string(*id) + " twice in one layer");
  return ids;
}

}  // namespace

SequenceRecord decode_sequence(ObjectReader& record, const DecodeContext& context) {
  const ModelSpec* model = context.header ? &context.header->model : nullptr;
  if (model == nullptr || model->experts == kAbsent || model->top_k == kAbsent || model->moe_layers.empty())
    record.value().fail("the shape of a sequence is not known",
                        "the header must have the model's experts, top_k and moe_layers");
  if (model->experts > kMaxByteExperts)
    record.value().fail("the model has " + std::to_string(model->experts) + " experts",
                        "sequences hold ids of one byte: at most 256 experts");
  SequenceRecord sequence;
  sequence.id = record.required("id").string();
  sequence.tokens = record.required("tokens").integer(1, kMaxInteger, "tokens");
  sequence.prompt_tokens = record.required("prompt_tokens").integer(0, kMaxInteger, "prompt_tokens");
  sequence.experts = read_experts(record.required("experts"), sequence.tokens, *model);
  return sequence;
}

RequestRecord decode_request(ObjectReader& record) {
  RequestRecord request;
  request.id = record.required("id").string();
  request.arrival_ns = record.required("arrival_ns").integer(0, kMaxInteger, "arrival_ns");
  request.prompt_tokens = record.required("prompt_tokens").integer(1, kMaxRequestTokens, "prompt_tokens");
  request.output_tokens = record.required("output_tokens").integer(1, kMaxRequestTokens, "output_tokens");
  request.sequence = record.required("sequence").string();
  request.offset = record.required("offset").integer(0, kMaxInteger, "offset");
  return request;
}

}  // namespace afore::wire
