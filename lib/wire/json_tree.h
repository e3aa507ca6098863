#pragma once
// One parsed JSON text as a flat preorder array, reused from line to line: no allocation per value once warm.
// Strict: see parse(). Accessors of JsonValue check type and range, and fail with source, line and JSON path.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace afore::wire {

inline constexpr std::int64_t kMaxInteger = std::int64_t{1} << 53;
inline constexpr int kMaxDepth = 64;

enum class JsonType : std::uint8_t { null, boolean, integer, real, string, array, object };

class JsonTree;

// A node of a tree; cheap to copy, valid until the tree's next parse. Default-constructed: absent.
class JsonValue {
 public:
  JsonValue() = default;
  JsonValue(const JsonTree* tree, std::uint32_t at) : tree_(tree), at_(at) {}

  explicit operator bool() const { return tree_ != nullptr; }
  JsonType type() const;
  bool is_null() const { return type() == JsonType::null; }

  // Typed reads. Integers must be written as integers (3.0 and -0 are not); `noun` is what messages call the value.
  std::int64_t integer(std::int64_t min = 0, std::int64_t max = kMaxInteger, const char* noun = "value") const;
  int index(std::int64_t end, const char* noun) const;  // in [0, end)
  // As integer(), but integral floats count too (foreign formats).
  std::int64_t integral(std::int64_t min = 0, std::int64_t max = kMaxInteger, const char* noun = "value") const;
  double number() const;
  bool boolean() const;
  std::string_view string() const;

  void expect(JsonType type) const;
  std::size_t size() const;  // members or items of an object or array
  std::string_view key() const;

  // Children in order. For a non-container: none; call expect() first.
  class Iterator {
   public:
    Iterator(const JsonTree* tree, std::uint32_t at) : tree_(tree), at_(at) {}
    JsonValue operator*() const { return {tree_, at_}; }
    inline Iterator& operator++();
    bool operator!=(const Iterator& o) const { return at_ != o.at_; }

   private:
    const JsonTree* tree_;
    std::uint32_t at_;
  };
  Iterator begin() const;
  Iterator end() const;

  std::string path() const;  // JSON pointer, "" for the root
  // "SOURCE:LINE: PATH: FACT"; `below` extends the path by one key.
  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "",
                         std::optional<std::string_view> below = {}) const;

 private:
  [[noreturn]] void fail_type(const char* expected) const;
  void check_range(std::int64_t value, std::int64_t min, std::int64_t max, const char* noun) const;

  const JsonTree* tree_ = nullptr;
  std::uint32_t at_ = 0;
};

// Members of an object by key. Remembers where the last one stood: reading in written order costs one comparison each.
class ObjectReader {
 public:
  explicit ObjectReader(JsonValue object);
  JsonValue find(std::string_view key);      // absent: a false value
  JsonValue required(std::string_view key);  // absent: fails
  JsonValue value() const { return object_; }

 private:
  JsonValue object_;
  JsonValue::Iterator next_;
};

class JsonTree {
 public:
  // Which integers are taken: records are read by others, who may hold them in doubles.
  enum class Integers : std::uint8_t { to_2_53, int64 };
  explicit JsonTree(Integers integers = Integers::to_2_53) : integers_(integers) {}

  // Error{data} for text that is not one JSON value (RFC 8259; BOM, NUL, trailing bytes and invalid UTF-8 included),
  // and for what the RFC lets a reader refuse: nesting beyond kMaxDepth, integers that are not taken, numbers beyond a
  // double.
  // `line` 0: the source is one whole text. `source` must outlive the use of the tree.
  JsonValue parse_syntax(std::string_view text, std::string_view source, std::int64_t line = 0);

  // The same, and Error{data} for an object with a key twice: JSON, but no input of ours.
  JsonValue parse(std::string_view text, std::string_view source, std::int64_t line = 0);

 private:
  friend class JsonValue;
  friend class JsonValue::Iterator;
  friend class TreeBuilder;

  struct Node {
    std::int64_t value;  // integer, 0/1, bits of a real, span of a string, number of children
    std::uint32_t end;   // index behind the subtree
    std::uint32_t tag;   // span of the key << 3 | type; span 0 = no key
    JsonType type() const { return static_cast<JsonType>(tag & 7u); }
  };
  struct Span {
    std::uint32_t offset, size;
  };

  std::string_view text_of(std::uint64_t span) const { return {text_.data() + spans_[span].offset, spans_[span].size}; }
  std::string_view key_of(std::uint32_t at) const { return text_of(nodes_[at].tag >> 3); }
  void check_duplicates(JsonValue object);
  [[noreturn]] void fail(const std::string& path, const std::string& fact, const std::string& hint) const;

  std::vector<Node> nodes_;
  std::vector<std::uint32_t> objects_;  // nodes, in the order of their ends
  std::vector<std::string_view> keys_;  // of check_duplicates()
  std::vector<Span> spans_;
  std::string text_;
  std::string_view source_;
  std::int64_t line_ = 0;
  Integers integers_;
};

inline JsonValue::Iterator& JsonValue::Iterator::operator++() {
  at_ = tree_->nodes_[at_].end;
  return *this;
}
inline JsonType JsonValue::type() const { return tree_->nodes_[at_].type(); }
inline JsonValue::Iterator JsonValue::begin() const { return {tree_, at_ + 1}; }
inline JsonValue::Iterator JsonValue::end() const { return {tree_, tree_->nodes_[at_].end}; }
inline std::string_view JsonValue::key() const { return tree_->key_of(at_); }

inline std::int64_t JsonValue::integer(std::int64_t min, std::int64_t max, const char* noun) const {
  const JsonTree::Node& node = tree_->nodes_[at_];
  if (node.type() != JsonType::integer) fail_type("an integer");
  if (node.value < min || node.value > max) check_range(node.value, min, max, noun);
  return node.value;
}

// Appends "/key" in JSON pointer form, shortened and without control characters, so that messages stay one line.
void append_path(std::string& path, std::string_view key);
// `text` in double quotes, shortened and escaped, for messages.
std::string in_quotes(std::string_view text);

}  // namespace afore::wire
