#include "nn/jinja/run.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"

namespace afore::nn::jinja {
namespace {

int depth_of(const Value& value) {
  if (const Sequence* sequence = as_sequence(value)) return sequence->depth;
  if (const Mapping* mapping = as_mapping(value)) return mapping->depth;
  return 0;
}

}  // namespace

void Run::fail(const std::string& fact) const {
  throw Error(ErrorKind::data, fmt::format("{}:{}: {}", source_, line, fact));
}

void Run::charge(std::size_t work) {
  if (work > kMaxWork - work_) fail("the chat template does not end within its bound of steps");
  work_ += work;
}

void Run::charge_bytes(std::size_t bytes) {
  if (bytes > kMaxTextBytes) fail(fmt::format("a text longer than {} MiB", kMaxTextBytes >> 20));
  charge(bytes / 32);
}

int Run::depth_around(int inner) const {
  if (inner >= kMaxValueDepth) fail(fmt::format("lists and mappings nest deeper than {} levels", kMaxValueDepth));
  return inner + 1;
}

Value Run::text(std::string text) {
  charge_bytes(text.size());
  return std::make_shared<const std::string>(std::move(text));
}

Value Run::sequence(Flavour flavour, std::vector<Value> items) {
  charge(items.size());
  int inner = 0;
  for (const Value& item : items) inner = std::max(inner, depth_of(item));
  return std::make_shared<const Sequence>(Sequence{flavour, std::move(items), depth_around(inner), 0});
}

Value Run::mapping(std::vector<std::pair<Value, Value>> members) {
  charge(members.size());
  int inner = 0;
  for (const auto& [key, value] : members) inner = std::max({inner, depth_of(key), depth_of(value)});
  return std::make_shared<const Mapping>(Mapping{std::move(members), depth_around(inner)});
}

}  // namespace afore::nn::jinja
