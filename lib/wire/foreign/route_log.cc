#include "wire/foreign/route_log.h"

#include <algorithm>

#include "util/error.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

constexpr std::int64_t kMaxTopK = 1024;
constexpr std::int64_t kMaxRouteLayer = (1 << 16) - 1;

bool all_alike(const std::int32_t* ids, std::int64_t tokens, std::int64_t top_k) {
  for (std::int64_t token = 1; token < tokens; ++token)
    if (!std::equal(ids, ids + top_k, ids + token * top_k)) return false;
  return true;
}

}  // namespace

RouteLog::Layer& RouteLog::layer_of(std::int64_t layer) {
  const auto at = std::lower_bound(layers_.begin(), layers_.end(), layer,
                                   [](const Layer& known, std::int64_t index) { return known.layer < index; });
  if (at != layers_.end() && at->layer == layer) return *at;
  Layer fresh;
  fresh.layer = layer;
  return *layers_.insert(at, std::move(fresh));
}

void RouteLog::read_line(std::string_view line, std::int64_t line_number) {
  JsonTree tree;
  ObjectReader record(tree.parse(line, source_, line_number));
  if (const JsonValue type = record.find("type"); type && type.string() != "route") {
    if (type.string() != "meta") type.fail("neither \"meta\" nor \"route\"");
    if (const JsonValue top_k = record.find("top_k")) {
      const std::int64_t said = top_k.integer(1, kMaxTopK, "top_k");
      if (top_k_ != 0 && said != top_k_)
        top_k.fail("top_k is " + std::to_string(said) + ", before " + std::to_string(top_k_),
                   "the log was appended to by another run");
      top_k_ = said;
    }
    return;
  }
  const JsonValue token = record.required("token_idx");
  const std::int64_t index = token.integer(0, kMaxInteger, "token_idx");
  const JsonValue layer = record.find("layer");
  const JsonValue ids = record.required("topk_ids");
  ids.expect(JsonType::array);
  const auto size = static_cast<std::int64_t>(ids.size());
  if (size < 1 || size > kMaxTopK) ids.fail("a token has 1 to " + std::to_string(kMaxTopK) + " experts");
  if (top_k_ == 0) top_k_ = size;
  if (size != top_k_) ids.fail(std::to_string(size) + " experts, not " + std::to_string(top_k_));
  std::vector<std::int32_t> row;
  for (const JsonValue id : ids) {
    row.push_back(id.index(1 << 16, "expert"));
    if (std::count(row.begin(), row.end(), row.back()) > 1) id.fail("the expert is there twice");
  }
  Layer& at = layer_of(layer ? layer.integer(0, kMaxRouteLayer, "layer") : 0);
  if (index != 0 && at.pass_tokens.empty())
    token.fail("layer " + std::to_string(at.layer) + " begins with token " + std::to_string(index),
               "rows are missing: a pass counts its tokens from 0");
  if (index != 0 && index != at.next_token)
    token.fail("token " + std::to_string(index) + " of layer " + std::to_string(at.layer) + " follows token " +
                   std::to_string(at.next_token - 1),
               "rows are missing: a pass counts its tokens from 0");
  if (index == 0) at.pass_tokens.push_back(0);
  ++at.pass_tokens.back();
  at.next_token = index + 1;
  at.ids.insert(at.ids.end(), row.begin(), row.end());
  any_ = true;
}

RoutingFile RouteLog::finish() {
  if (!any_) throw Error(ErrorKind::data, source_ + ": there are no routes");
  const Layer& first = layers_.front();
  RoutingFile file;
  file.axis = LayerAxis::keyed;
  file.passes = true;
  file.top_k = top_k_;
  file.rows = static_cast<std::int64_t>(layers_.size());
  file.tokens = static_cast<std::int64_t>(first.ids.size()) / top_k_;
  for (const Layer& layer : layers_) {
    file.layers.push_back(layer.layer);
    if (layer.pass_tokens != first.pass_tokens)
      throw Error(ErrorKind::data,
                  source_ + ": layers " + std::to_string(first.layer) + " and " + std::to_string(layer.layer) +
                      " have different passes",
                  "was the log cut? each pass has every token in each logged layer");
  }
  file.ids.resize(static_cast<std::size_t>(file.tokens * file.rows * top_k_));
  for (std::int64_t row = 0; row < file.rows; ++row)
    for (std::int64_t token = 0; token < file.tokens; ++token)
      std::copy_n(layers_[row].ids.data() + token * top_k_, top_k_,
                  file.ids.data() + (token * file.rows + row) * top_k_);
  std::int64_t offset = 0;
  for (std::size_t pass = 0; pass < first.pass_tokens.size(); ++pass) {
    const std::int64_t tokens = first.pass_tokens[pass];
    bool dummy = tokens >= kDummyTokens;
    for (const Layer& layer : layers_) dummy = dummy && all_alike(layer.ids.data() + offset * top_k_, tokens, top_k_);
    file.spans.push_back({std::to_string(pass), offset, tokens, 0, dummy});
    offset += tokens;
  }
  return file;
}

}  // namespace afore::wire
