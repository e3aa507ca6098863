// Files of other tools that afore-trace imports.
#include "wire/json_tree.h"
#include "wire/limits.h"
#include "wire/wire.h"

namespace afore::wire {
namespace {

constexpr std::int64_t kMaxLayers = 1 << 20;

void read_layers(ObjectReader& file, RoutingIdsMeta& meta) {
  const JsonValue layers = file.find("layers");
  const JsonValue list = file.find("moe_layers");
  if (!list) {
    meta.layers = static_cast<int>(file.required("layers").integer(1, kMaxLayers, "layers"));
    return;
  }
  list.expect(JsonType::array);
  for (const JsonValue item : list) {
    const int layer = item.index(kMaxLayers, "layer");
    if (!meta.moe_layers.empty() && layer <= meta.moe_layers.back()) item.fail("layers are not ascending");
    meta.moe_layers.push_back(layer);
  }
  if (meta.moe_layers.empty()) list.fail("the list is empty");
  meta.layers = static_cast<int>(meta.moe_layers.size());
  if (layers && layers.integer(1, kMaxLayers, "layers") != meta.layers)
    layers.fail("layers is " + std::to_string(layers.integer()) + ", moe_layers has " + std::to_string(meta.layers),
                "layers counts the recorded layers, the MoE ones");
}

// `where` must end within the file's tokens.
void add_request(RoutingIdsMeta& meta, JsonValue where, RoutingIdsMeta::Request request) {
  if (request.offset + request.tokens > meta.tokens)
    where.fail("the request ends at token " + std::to_string(request.offset + request.tokens) + ", the file has " +
               std::to_string(meta.tokens));
  meta.requests.push_back(request);
}

void read_requests(JsonValue list, RoutingIdsMeta& meta) {
  list.expect(JsonType::array);
  for (const JsonValue item : list) {
    ObjectReader object(item);
    RoutingIdsMeta::Request request;
    request.prompt_tokens = object.required("prompt_tokens").integer(0, kMaxInteger, "prompt_tokens");
    request.tokens = object.required("tokens").integer(1, kMaxInteger, "tokens");
    request.offset = object.required("offset").integer(0, kMaxInteger, "offset");
    add_request(meta, item, request);
  }
}

void read_sequence_lengths(JsonValue list, RoutingIdsMeta& meta) {
  list.expect(JsonType::array);
  std::int64_t offset = 0;
  for (const JsonValue item : list) {
    const std::int64_t tokens = item.integer(1, kMaxInteger, "length");
    add_request(meta, item, {0, tokens, offset});
    offset += tokens;
  }
}

}  // namespace

RoutingIdsMeta parse_routing_ids_meta(std::string_view text, const std::string& source_name) {
  JsonTree tree;
  ObjectReader file(tree.parse(text, source_name));
  RoutingIdsMeta meta;
  meta.model_name = file.required("model").string();
  read_layers(file, meta);
  meta.experts = static_cast<int>(file.required("experts").integer(1, kMaxByteExperts, "experts"));
  meta.top_k = static_cast<int>(file.required("topk").integer(1, meta.experts, "topk"));
  meta.tokens = file.required("tokens").integer(1, kMaxInteger, "tokens");
  if (const JsonValue requests = file.find("requests")) read_requests(requests, meta);
  else if (const JsonValue lengths = file.find("seq_lens")) read_sequence_lengths(lengths, meta);
  else file.value().fail("neither requests nor seq_lens says where requests begin");
  if (meta.requests.empty()) file.value().fail("there are no requests");
  return meta;
}

}  // namespace afore::wire
