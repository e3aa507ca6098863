#include "wire/json_tree.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "util/error.h"

namespace afore::wire {

// The events of nlohmann's parser, appended to the tree. Throws Error{data} from within an event.
class TreeBuilder {
 public:
  using Json = nlohmann::json;

  TreeBuilder(JsonTree& tree, std::string_view text) : tree_(tree), text_(text) {}

  bool null() { return scalar(JsonType::null, 0); }
  bool boolean(bool value) { return scalar(JsonType::boolean, value ? 1 : 0); }

  bool number_integer(std::int64_t value) {
    if (value == 0) return real(-0.0);  // the parser reports only signed literals here: this one was "-0"
    if (value < -kMaxInteger && !wide()) fail_magnitude();
    return scalar(JsonType::integer, value);
  }

  bool number_unsigned(std::uint64_t value) {
    const std::int64_t most = wide() ? std::numeric_limits<std::int64_t>::max() : kMaxInteger;
    if (value > static_cast<std::uint64_t>(most)) fail_magnitude();
    return scalar(JsonType::integer, static_cast<std::int64_t>(value));
  }

  bool number_float(double value, const std::string& literal) {
    // Integers beyond 64 bits arrive here as well.
    if (literal.find_first_of(".eE") == std::string::npos) fail_magnitude();
    if (!std::isfinite(value)) fail("the number is too large");
    return real(value);
  }

  bool string(const std::string& value) { return scalar(JsonType::string, add_span(value)); }
  bool binary(Json::binary_t&) { return false; }  // not in JSON text

  bool start_object(std::size_t) { return open(JsonType::object); }
  bool start_array(std::size_t) { return open(JsonType::array); }

  bool key(const std::string& value) {
    frames_.back().key = static_cast<std::uint32_t>(add_span(value));
    return true;
  }

  bool end_object() {
    tree_.objects_.push_back(frames_.back().node);
    close();
    return true;
  }

  bool end_array() {
    close();
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    const std::string_view what = error.what();
    auto says = [&](const char* part) { return what.find(part) != std::string_view::npos; };
    const std::string column = " at byte " + std::to_string(position);
    if (error.id == 406) fail("the number is too large");
    if (position > text_.size()) fail("the JSON text ends too early", "was it cut off?");
    if (says("UTF-8")) fail("invalid UTF-8" + column);
    if (says("surrogate")) fail("a lone surrogate in a \\u escape" + column);
    if (says("control character")) fail("a raw control character in a string" + column);
    const std::string word = word_at(position);
    if (word == "NaN" || word == "Infinity" || word == "-Infinity" || word == "nan" || word == "inf" ||
        word == "-inf" || word == "-nan" || word == "-NaN")
      fail(word + " is not a JSON number");
    if (frames_.empty() && !tree_.nodes_.empty()) fail("more text after the JSON value" + column);
    fail("not valid JSON" + column);
  }

 private:
  struct Frame {
    std::uint32_t node;
    std::uint32_t key;  // span of the key whose value comes next; 0 = none
  };

  std::int64_t add_span(const std::string& value) {
    const auto offset = static_cast<std::uint32_t>(tree_.text_.size());
    tree_.text_ += value;
    tree_.spans_.push_back({offset, static_cast<std::uint32_t>(value.size())});
    return static_cast<std::int64_t>(tree_.spans_.size()) - 1;
  }

  void add(JsonType type, std::int64_t value) {
    std::uint32_t key = 0;
    if (!frames_.empty()) {
      key = frames_.back().key;
      frames_.back().key = 0;
      ++tree_.nodes_[frames_.back().node].value;
    }
    const auto end = static_cast<std::uint32_t>(tree_.nodes_.size()) + 1;
    tree_.nodes_.push_back({value, end, key << 3 | static_cast<std::uint32_t>(type)});
  }

  bool scalar(JsonType type, std::int64_t value) {
    add(type, value);
    return true;
  }

  bool real(double value) { return scalar(JsonType::real, std::bit_cast<std::int64_t>(value)); }

  bool open(JsonType type) {
    if (frames_.size() == static_cast<std::size_t>(kMaxDepth))
      fail("nested deeper than " + std::to_string(kMaxDepth) + " levels");
    add(type, 0);
    frames_.push_back({static_cast<std::uint32_t>(tree_.nodes_.size()) - 1, 0});
    return true;
  }

  void close() {
    tree_.nodes_[frames_.back().node].end = static_cast<std::uint32_t>(tree_.nodes_.size());
    frames_.pop_back();
  }

  // The path of `child`, the newest node of the innermost open container, or with 0 of the value that comes next.
  std::string path_of(std::uint32_t child) const {
    std::string path;
    for (std::size_t i = 0; i < frames_.size(); ++i) {
      const JsonTree::Node& node = tree_.nodes_[frames_[i].node];
      const std::uint32_t next = i + 1 < frames_.size() ? frames_[i + 1].node : child;
      if (node.type() == JsonType::array) append_path(path, std::to_string(node.value - (next != 0 ? 1 : 0)));
      else if (next != 0) append_path(path, tree_.key_of(next));
      else if (frames_[i].key != 0) append_path(path, tree_.text_of(frames_[i].key));
    }
    return path;
  }

  std::string word_at(std::size_t position) const {
    auto in_word = [&](std::size_t i) {
      const char c = text_[i];
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '+';
    };
    std::size_t begin = position == 0 ? 0 : position - 1, end = begin;
    while (begin > 0 && in_word(begin - 1)) --begin;
    while (end < text_.size() && end - begin < 16 && in_word(end)) ++end;
    return std::string(text_.substr(begin, end - begin));
  }

  bool wide() const { return tree_.integers_ == JsonTree::Integers::int64; }
  [[noreturn]] void fail_magnitude() const {
    fail(wide() ? "the integer is beyond 64 bits" : "the integer is beyond 2^53");
  }
  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "") const {
    tree_.fail(path_of(0), fact, hint);
  }

  JsonTree& tree_;
  std::string_view text_;
  std::vector<Frame> frames_;
};

JsonValue JsonTree::parse_syntax(std::string_view text, std::string_view source, std::int64_t line) {
  nodes_.clear();
  objects_.clear();
  text_.clear();
  spans_.assign(1, Span{0, 0});
  source_ = source;
  line_ = line;
  // Spans and node indices are 29 and 32 bits wide.
  if (text.size() >= std::size_t{1} << 29) fail("", "the JSON text is larger than 512 MiB", "");
  // The parser would skip the first and end quietly at the second.
  if (text.starts_with("\xEF\xBB\xBF"))
    fail("", "a byte order mark stands before the JSON text", "save it as UTF-8 without BOM");
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    fail("", "a NUL byte at byte " + std::to_string(nul + 1), "");
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    fail("", line > 0 ? "the line is empty" : "the file is empty", "");
  nodes_.reserve(text.size() / 2 + 2);  // a value takes two bytes with its separator; unused pages stay untouched
  TreeBuilder builder(*this, text);
  const bool done = nlohmann::json::sax_parse(text.data(), text.data() + text.size(), &builder);
  AFORE_CHECK(done && !nodes_.empty(), "the JSON parser stopped without an error");
  return {this, 0};
}

// Small objects pairwise; a large one sorted, so that a hostile line stays cheap.
void JsonTree::check_duplicates(JsonValue object) {
  keys_.clear();
  for (const JsonValue member : object) keys_.push_back(member.key());
  auto twice = keys_.end();
  if (keys_.size() <= 40) {
    for (auto key = keys_.begin(); key != keys_.end() && twice == keys_.end(); ++key)
      if (std::find(keys_.begin(), key, *key) != key) twice = key;
  } else {
    std::sort(keys_.begin(), keys_.end());
    twice = std::adjacent_find(keys_.begin(), keys_.end());
  }
  if (twice != keys_.end()) object.fail("the key stands twice", "", *twice);
}

JsonValue JsonTree::parse(std::string_view text, std::string_view source, std::int64_t line) {
  const JsonValue root = parse_syntax(text, source, line);
  for (const std::uint32_t object : objects_) check_duplicates({this, object});
  return root;
}

void JsonTree::fail(const std::string& path, const std::string& fact, const std::string& hint) const {
  std::string message(source_);
  if (line_ > 0) message += ":" + std::to_string(line_);
  message += ": ";
  if (!path.empty()) message += path + ": ";
  throw Error(ErrorKind::data, message + fact, hint);
}

}  // namespace afore::wire
