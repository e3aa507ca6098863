#include "wire/foreign/routed_experts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "util/error.h"
#include "wire/base64.h"
#include "wire/foreign/json_tensor.h"
#include "wire/foreign/npy.h"

namespace afore::wire {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";

struct Found {
  JsonValue value;
  std::int64_t prompt_tokens = 0;
};

JsonValue member(JsonValue value, std::string_view key) {
  if (!value || value.type() != JsonType::object) return {};
  return ObjectReader(value).find(key);
}

// One response, wherever the server puts the field.
Found find_field(JsonValue response) {
  Found found;
  if (const JsonValue meta = member(response, "meta_info")) {
    found.value = member(meta, "routed_experts");
    if (const JsonValue tokens = member(meta, "prompt_tokens")) found.prompt_tokens = tokens.integral();
  }
  if (const JsonValue usage = member(response, "usage"))
    if (const JsonValue tokens = member(usage, "prompt_tokens")) found.prompt_tokens = tokens.integral();
  if (!found.value) found.value = member(response, "routed_experts");
  if (!found.value) found.value = member(member(response, "sgl_ext"), "routed_experts");
  if (found.value) return found;
  const JsonValue choices = member(response, "choices");
  if (!choices || choices.type() != JsonType::array) return found;
  for (const JsonValue choice : choices)
    for (const JsonValue holder : {choice, member(choice, "sgl_ext"), member(choice, "meta_info")}) {
      const JsonValue value = member(holder, "routed_experts");
      if (!value || value.is_null()) continue;
      if (found.value) value.fail("a response of several choices cannot be told from several requests", "use n = 1");
      found.value = value;
    }
  return found;
}

std::string id_of(JsonValue response, std::int64_t line) {
  for (const JsonValue holder : {response, member(response, "meta_info")})
    if (const JsonValue id = member(holder, "id"); id && id.type() == JsonType::string) return std::string(id.string());
  return fmt::format("r{}", line);
}

std::vector<std::int64_t> int32_values(const std::vector<std::uint8_t>& bytes) {
  std::vector<std::int64_t> values(bytes.size() / 4);
  for (std::size_t i = 0; i < values.size(); ++i) {
    std::int32_t value;
    std::memcpy(&value, bytes.data() + 4 * i, 4);  // little-endian, as the machines that serve
    values[i] = value;
  }
  return values;
}

}  // namespace

void RoutedExperts::read_line(std::string_view line, std::int64_t line_number) {
  JsonTree tree;
  const JsonValue response = tree.parse(line, source_, line_number);
  response.expect(JsonType::object);
  const Found found = find_field(response);
  if (!found.value || found.value.is_null())
    response.fail("there is no routed_experts",
                  "ask the server for it: --enable-return-routed-experts and \"return_routed_experts\": true");
  const std::string place = source_ + ":" + std::to_string(line_number) + ": " + found.value.path();
  const std::string id = id_of(response, line_number);
  if (found.value.type() == JsonType::array) {
    const JsonTensor tensor = read_tensor(found.value, 3, "expert", -1);
    add(tensor.shape, tensor.values, LayerAxis::moe, id, found.prompt_tokens, place);
    return;
  }
  std::vector<std::uint8_t> bytes;
  if (!decode_base64(found.value.string(), bytes)) found.value.fail("not base64");
  if (bytes.size() >= kNpyMagic.size() && std::memcmp(bytes.data(), kNpyMagic.data(), kNpyMagic.size()) == 0) {
    const NpyArray array = parse_npy(bytes, place);
    add(array.shape, array.values, LayerAxis::moe, id, found.prompt_tokens, place);
    return;
  }
  if (shape_.layers == 0 || shape_.top_k == 0)
    throw Error(ErrorKind::usage, place + ": the data has no shape",
                "give --model PRESET, or --hidden-layers and --top-k");
  const auto row = static_cast<std::size_t>(4 * shape_.layers * shape_.top_k);
  if (bytes.empty() || bytes.size() % row != 0)
    found.value.fail(std::to_string(bytes.size()) + " bytes are not whole tokens of " + std::to_string(shape_.layers) +
                         " layers x " + std::to_string(shape_.top_k) + " experts of 4 bytes",
                     "are --hidden-layers and --top-k the model's?");
  add({static_cast<std::int64_t>(bytes.size() / row), shape_.layers, shape_.top_k}, int32_values(bytes),
      LayerAxis::hidden, id, found.prompt_tokens, place);
}

void RoutedExperts::add_npy(std::vector<std::uint8_t> bytes, const std::string& name) {
  const NpyArray array = parse_npy(bytes, name);
  add(array.shape, array.values, LayerAxis::moe, name, 0, name);
}

void RoutedExperts::add(const std::vector<std::int64_t>& shape, const std::vector<std::int64_t>& values, LayerAxis axis,
                        const std::string& id, std::int64_t prompt_tokens, const std::string& place) {
  const auto refuse = [&](const std::string& fact) { throw Error(ErrorKind::data, place + ": " + fact); };
  if (shape.size() != 3) refuse(std::to_string(shape.size()) + " dimensions, not [tokens][layers][top_k]");
  constexpr const char* kExtents[] = {"tokens", "layers", "experts per token"};
  for (std::size_t d = 0; d < 3; ++d)
    if (shape[d] == 0) refuse(std::string("there are no ") + kExtents[d]);
  if (file_.spans.empty()) {
    file_.axis = axis;
    file_.rows = shape[1];
    file_.top_k = shape[2];
  } else if (file_.axis != axis || file_.rows != shape[1] || file_.top_k != shape[2]) {
    refuse(std::to_string(shape[1]) + " layers x " + std::to_string(shape[2]) + " experts" +
           (file_.axis == axis ? "" : " in another form") + ", before " + std::to_string(file_.rows) + " x " +
           std::to_string(file_.top_k));
  }
  if (static_cast<std::int64_t>(file_.ids.size() + values.size()) > kMaxTableCells) refuse("too many tokens to hold");
  for (const std::int64_t value : values) {
    if (value < -1 || value >= (1 << 16)) refuse("expert " + std::to_string(value) + " is no expert");
    file_.ids.push_back(static_cast<std::int32_t>(value));
  }
  file_.spans.push_back({id, file_.tokens, shape[0], std::min(prompt_tokens, shape[0]), false});
  file_.tokens += shape[0];
}

RoutingFile RoutedExperts::finish() {
  if (file_.spans.empty()) throw Error(ErrorKind::data, source_ + ": there are no responses");
  return std::move(file_);
}

}  // namespace afore::wire
