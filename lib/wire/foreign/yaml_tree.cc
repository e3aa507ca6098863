#include "wire/foreign/yaml_tree.h"

#include <fmt/format.h>
#include <yaml.h>

#include <algorithm>
#include <new>

#include "nn/utf8.h"
#include "util/error.h"
#include "wire/json_tree.h"

namespace afore::wire {

// From libyaml's events to nodes. Containers that are open are kept in a list, not on the stack.
class YamlBuilder {
 public:
  YamlBuilder(YamlTree& tree, std::string_view text);
  ~YamlBuilder() { yaml_parser_delete(&parser_); }
  YamlBuilder(const YamlBuilder&) = delete;
  YamlBuilder& operator=(const YamlBuilder&) = delete;
  void build();

 private:
  [[noreturn]] void fail(std::size_t line, const std::string& fact, const std::string& hint = "") const {
    throw Error(ErrorKind::data, fmt::format("{}:{}: {}", tree_.source_, line + 1, fact), hint);
  }
  [[noreturn]] void fail_parser() const;
  bool take(const yaml_event_t& event);  // false at the end
  void check_plain(const yaml_event_t& event, const yaml_char_t* anchor, const yaml_char_t* tag) const;
  void add(const yaml_event_t& event, YamlType type);
  void add_scalar(const yaml_event_t& event);
  void close();
  void check_keys(std::uint32_t mapping);

  YamlTree& tree_;
  yaml_parser_t parser_;
  std::vector<std::uint32_t> open_;
  std::vector<std::uint32_t> keys_;
  int documents_ = 0;
};

YamlBuilder::YamlBuilder(YamlTree& tree, std::string_view text) : tree_(tree) {
  const std::size_t good = nn::utf8_prefix(text);
  if (good != text.size()) {
    const auto line =
        static_cast<std::size_t>(std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(good), '\n'));
    fail(line, "the text is not UTF-8");
  }
  if (yaml_parser_initialize(&parser_) == 0) throw std::bad_alloc();
  yaml_parser_set_encoding(&parser_, YAML_UTF8_ENCODING);
  yaml_parser_set_input_string(&parser_, reinterpret_cast<const unsigned char*>(text.data()), text.size());
}

void YamlBuilder::fail_parser() const {
  if (parser_.error == YAML_MEMORY_ERROR) throw std::bad_alloc();
  const bool reader = parser_.error == YAML_READER_ERROR;  // which knows no line
  fail(reader ? parser_.mark.line : parser_.problem_mark.line,
       std::string("is no YAML: ") + (parser_.problem != nullptr ? parser_.problem : "unknown problem"));
}

void YamlBuilder::check_plain(const yaml_event_t& event, const yaml_char_t* anchor, const yaml_char_t* tag) const {
  const std::size_t line = event.start_mark.line;
  if (anchor != nullptr) fail(line, "an anchor (&) is not read", "write the value out where it is used");
  if (tag != nullptr) fail(line, "a tag (!) is not read", "leave it out");
}

void YamlBuilder::add(const yaml_event_t& event, YamlType type) {
  const std::size_t line = event.start_mark.line;
  if (tree_.nodes_.size() >= kMaxYamlNodes) fail(line, fmt::format("there are more than {} values", kMaxYamlNodes));
  if (line >= UINT32_MAX) fail(line, "there are too many lines");
  if (!open_.empty()) {
    YamlTree::Node& parent = tree_.nodes_[open_.back()];
    ++parent.text_bytes;  // keys counted too until it closes
    const bool is_key = parent.type == YamlType::mapping && parent.text_bytes % 2 == 1;
    if (is_key && type != YamlType::scalar) fail(line, "a key is no scalar");
  }
  tree_.nodes_.push_back({0, 0, static_cast<std::uint32_t>(line + 1), 0, type, true});
  if (type == YamlType::scalar) return;
  if (open_.size() == static_cast<std::size_t>(kMaxYamlDepth))
    fail(line, fmt::format("values nest deeper than {} levels", kMaxYamlDepth));
  open_.push_back(static_cast<std::uint32_t>(tree_.nodes_.size() - 1));
}

void YamlBuilder::add_scalar(const yaml_event_t& event) {
  const auto& scalar = event.data.scalar;
  check_plain(event, scalar.anchor, scalar.tag);
  add(event, YamlType::scalar);
  YamlTree::Node& node = tree_.nodes_.back();
  if (scalar.length > UINT32_MAX) fail(event.start_mark.line, "a text is too long");
  node.text_offset = tree_.text_.size();
  node.text_bytes = static_cast<std::uint32_t>(scalar.length);
  node.plain = scalar.style == YAML_PLAIN_SCALAR_STYLE;
  node.end = static_cast<std::uint32_t>(tree_.nodes_.size());
  tree_.text_.append(reinterpret_cast<const char*>(scalar.value), scalar.length);
}

void YamlBuilder::check_keys(std::uint32_t mapping) {
  keys_.clear();
  for (std::uint32_t at = mapping + 1; at < tree_.nodes_.size(); at = tree_.nodes_[at + 1].end) {
    if (tree_.nodes_[at].plain && tree_.text_of(at) == "<<")
      fail(tree_.nodes_[at].line - 1, "a merge key (<<) is not read", "write the members out");
    keys_.push_back(at);
  }
  const auto before = [&](std::uint32_t a, std::uint32_t b) {
    const std::string_view left = tree_.text_of(a), right = tree_.text_of(b);
    return left != right ? left < right : a < b;
  };
  std::sort(keys_.begin(), keys_.end(), before);
  for (std::size_t i = 1; i < keys_.size(); ++i)
    if (tree_.text_of(keys_[i]) == tree_.text_of(keys_[i - 1]))
      fail(tree_.nodes_[keys_[i]].line - 1,
           fmt::format("the key {} is there twice, first in line {}", in_quotes(tree_.text_of(keys_[i])),
                       tree_.nodes_[keys_[i - 1]].line));
}

void YamlBuilder::close() {
  const std::uint32_t at = open_.back();
  open_.pop_back();
  YamlTree::Node& node = tree_.nodes_[at];
  node.end = static_cast<std::uint32_t>(tree_.nodes_.size());
  if (node.type != YamlType::mapping) return;
  node.text_bytes /= 2;
  check_keys(at);
}

bool YamlBuilder::take(const yaml_event_t& event) {
  const std::size_t line = event.start_mark.line;
  switch (event.type) {
    case YAML_STREAM_END_EVENT: return false;
    case YAML_DOCUMENT_START_EVENT:
      if (++documents_ > 1) fail(line, "a second document begins", "keep one of them");
      if (event.data.document_start.version_directive != nullptr ||
          event.data.document_start.tag_directives.start != event.data.document_start.tag_directives.end)
        fail(line, "a directive (%) is not read", "leave it out");
      return true;
    case YAML_ALIAS_EVENT: fail(line, "an alias (*) is not read", "write the value out where it is used");
    case YAML_SCALAR_EVENT: add_scalar(event); return true;
    case YAML_SEQUENCE_START_EVENT:
      check_plain(event, event.data.sequence_start.anchor, event.data.sequence_start.tag);
      add(event, YamlType::sequence);
      return true;
    case YAML_MAPPING_START_EVENT:
      check_plain(event, event.data.mapping_start.anchor, event.data.mapping_start.tag);
      add(event, YamlType::mapping);
      return true;
    case YAML_SEQUENCE_END_EVENT:
    case YAML_MAPPING_END_EVENT: close(); return true;
    default: return true;
  }
}

void YamlBuilder::build() {
  struct Event {
    yaml_event_t event{};
    ~Event() { yaml_event_delete(&event); }
  };
  while (true) {
    Event next;
    if (yaml_parser_parse(&parser_, &next.event) == 0) fail_parser();
    if (!take(next.event)) break;
  }
  if (tree_.nodes_.empty()) throw Error(ErrorKind::data, tree_.source_ + ": is empty");
}

YamlTree::YamlTree(std::string_view text, std::string source) : source_(std::move(source)) {
  YamlBuilder(*this, text).build();
}

}  // namespace afore::wire
