#include "nn/json.h"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "util/error.h"

namespace afore::nn {
namespace {

constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kShownBytes = 60;  // of a key or string in a message

std::string shortened(std::string_view text) {
  if (text.size() <= kShownBytes) return std::string(text);
  std::size_t end = kShownBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;  // not inside a code point
  return std::string(text.substr(0, end)) + "...";
}

// Builds a tree from nlohmann's events: its own builder keeps the last of two members with one key.
class TreeBuilder : public nlohmann::json_sax<Json> {
 public:
  Json root;
  std::string failure;

  bool null() override { return add(nullptr); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override { return add(value); }
  bool number_float(number_float_t value, const string_t&) override { return add(value); }
  bool string(string_t& value) override { return add(std::move(value)); }
  bool binary(binary_t&) override { return fail("binary data"); }  // not in JSON text
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool key(string_t& name) override {
    const auto [at, fresh] = open_.back()->get_ref<Json::object_t&>().emplace(std::move(name), nullptr);
    if (!fresh) return fail(fmt::format("the key {} stands twice in one object", quote(at->first)));
    member_ = &at->second;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    return fail(fmt::format("not valid JSON at byte {}", position));
  }

 private:
  bool fail(std::string fact) {
    failure = std::move(fact);
    return false;
  }

  Json* place(Json&& value) {
    if (open_.empty()) return &(root = std::move(value));
    if (open_.back()->is_array()) {
      open_.back()->push_back(std::move(value));
      return &open_.back()->back();
    }
    return &(*member_ = std::move(value));
  }

  bool add(Json value) {
    place(std::move(value));
    return true;
  }

  bool open(Json container) {
    if (open_.size() == kMaxDepth) return fail(fmt::format("the JSON text nests deeper than {} levels", kMaxDepth));
    open_.push_back(place(std::move(container)));
    return true;
  }

  bool close() {
    open_.pop_back();
    return true;
  }

  std::vector<Json*> open_;
  Json* member_ = nullptr;  // whose value comes next
};

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  // nlohmann's reader takes a NUL for the end of the text.
  if (const std::size_t nul = text.find('\0'); nul != text.npos)
    throw Error(ErrorKind::data, fmt::format("{}: a NUL byte at byte {}", source, nul + 1));
  TreeBuilder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder))
    throw Error(ErrorKind::data, source + ": " + builder.failure);
  return std::move(builder.root);
}

std::string quote(std::string_view text) {
  return Json(shortened(text)).dump(-1, ' ', false, Json::error_handler_t::replace);
}

JsonView JsonView::child(std::string_view key) const {
  if (!value_->is_object()) fail_type("an object");
  const auto at = value_->find(key);
  const std::string name = quote(key);
  return {at == value_->end() ? nullptr : &*at, source_, path_ + '/' + name.substr(1, name.size() - 2)};
}

JsonView JsonView::find(std::string_view key) const { return child(key); }

JsonView JsonView::at(std::string_view key) const {
  const JsonView found = child(key);
  if (found.value_ == nullptr) found.fail("the key is missing");
  return found;
}

std::size_t JsonView::size() const {
  if (!is_array()) fail_type("an array");
  return value_->size();
}

JsonView JsonView::item(std::size_t i) const {
  if (!is_array()) fail_type("an array");
  return {&(*value_)[i], source_, fmt::format("{}/{}", path_, i)};
}

std::int64_t JsonView::integer(std::int64_t min, std::int64_t max) const {
  if (!*this || !value_->is_number_integer()) fail_type("an integer");
  // Beyond int64: nlohmann holds it as an unsigned number.
  const bool huge = value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX;
  const std::int64_t value = huge ? INT64_MAX : value_->get<std::int64_t>();
  if (value < min) fail(fmt::format("{} is below {}", shown(), min));
  if (value > max || huge) fail(fmt::format("{} is above {}", shown(), max));
  return value;
}

std::int64_t JsonView::integer(std::int64_t min, std::int64_t max, std::int64_t if_absent) const {
  return *this ? integer(min, max) : if_absent;
}

double JsonView::number() const {
  if (!*this || !value_->is_number()) fail_type("a number");
  return value_->get<double>();
}

bool JsonView::boolean() const {
  if (!*this || !value_->is_boolean()) fail_type("true or false");
  return value_->get<bool>();
}

const std::string& JsonView::string() const {
  if (!is_string()) fail_type("a string");
  return value_->get_ref<const std::string&>();
}

std::string JsonView::shown() const {
  if (value_ == nullptr) return "nothing";
  if (value_->is_object()) return "an object";
  if (value_->is_array()) return "an array";
  if (value_->is_string()) return quote(value_->get_ref<const std::string&>());
  return value_->dump();
}

void JsonView::fail(const std::string& fact, const std::string& hint) const {
  throw Error(ErrorKind::data, source_ + ": " + (path_.empty() ? "" : path_ + ": ") + fact, hint);
}

void JsonView::fail_type(const char* expected) const { fail(fmt::format("expected {}, found {}", expected, shown())); }

}  // namespace afore::nn
