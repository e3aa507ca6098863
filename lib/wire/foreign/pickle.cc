#include "wire/foreign/pickle.h"

#include <fmt/format.h>

#include "util/error.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

const char* name_of(PickleType type) {
  switch (type) {
    case PickleType::none: return "None";
    case PickleType::boolean: return "a bool";
    case PickleType::integer: return "an int";
    case PickleType::real: return "a float";
    case PickleType::string: return "a str";
    case PickleType::bytes: return "bytes";
    case PickleType::list: return "a list";
    case PickleType::tuple: return "a tuple";
    case PickleType::dict: return "a dict";
    case PickleType::tensor: return "a tensor";
    case PickleType::internal: return "a function or storage";
  }
  return "?";
}

}  // namespace

std::string_view Pickle::text(Id id) const {
  const auto span = static_cast<std::uint64_t>(nodes_[id].value);
  return {reinterpret_cast<const char*>(bytes_.data()) + (span >> 32), span & 0xFFFFFFFFu};
}

std::span<const Pickle::Id> Pickle::items(Id id) const {
  return containers_[static_cast<std::size_t>(nodes_[id].value)];
}

void PickleView::fail(const std::string& fact, const std::string& hint) const {
  throw Error(ErrorKind::data, pickle_->source() + ": " + (path_.empty() ? "" : path_ + ": ") + fact, hint);
}

void PickleView::fail_type(const char* expected) const {
  fail(std::string("expected ") + expected + ", found " + name_of(type()));
}

PickleView PickleView::below(std::string_view key, Pickle::Id id) const {
  const std::string shown = in_quotes(key);  // escaped and shortened: messages stay one line
  return {*pickle_, id, path_ + (path_.empty() ? "" : ".") + shown.substr(1, shown.size() - 2)};
}

std::optional<PickleView> PickleView::find(std::string_view key) const {
  if (type() != PickleType::dict) fail_type("a dict");
  const std::span<const Pickle::Id> items = pickle_->items(id_);
  std::optional<Pickle::Id> found;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    if (pickle_->type(items[i]) != PickleType::string || pickle_->text(items[i]) != key) continue;
    if (found) fail("the key " + in_quotes(key) + " is there twice");
    found = items[i + 1];
  }
  if (!found) return {};
  return below(key, *found);
}

PickleView PickleView::at(std::string_view key) const {
  if (std::optional<PickleView> found = find(key)) return *std::move(found);
  fail("has no key " + in_quotes(key));
}

std::vector<std::string_view> PickleView::keys() const {
  if (type() != PickleType::dict) fail_type("a dict");
  const std::span<const Pickle::Id> items = pickle_->items(id_);
  std::vector<std::string_view> keys;
  for (std::size_t i = 0; i < items.size(); i += 2) {
    if (pickle_->type(items[i]) != PickleType::string)
      fail(fmt::format("a key is {}, expected a str", name_of(pickle_->type(items[i]))));
    keys.push_back(pickle_->text(items[i]));
  }
  return keys;
}

std::size_t PickleView::size() const {
  if (type() != PickleType::list && type() != PickleType::tuple) fail_type("a list");
  return pickle_->items(id_).size();
}

PickleView PickleView::item(std::size_t i) const {
  return {*pickle_, pickle_->items(id_)[i], fmt::format("{}[{}]", path_, i)};
}

std::int64_t PickleView::integer() const {
  if (type() != PickleType::integer) fail_type("an int");
  return pickle_->integer(id_);
}

std::string_view PickleView::string() const {
  if (type() != PickleType::string) fail_type("a str");
  return pickle_->text(id_);
}

const PickleTensor& PickleView::tensor() const {
  if (type() != PickleType::tensor) fail_type("a tensor");
  return pickle_->tensor(id_);
}

}  // namespace afore::wire
