#pragma once
// One YAML document as a flat preorder array, with the line of every value. Only what cannot swell or surprise is read:
// no anchors, aliases, merge keys, tags or directives, one document, UTF-8, scalar keys of which none is there twice.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace afore::wire {

inline constexpr int kMaxYamlDepth = 64;
inline constexpr std::size_t kMaxYamlNodes = std::size_t{1} << 24;

enum class YamlType : std::uint8_t { scalar, sequence, mapping };

class YamlTree;

// A node of a tree; cheap to copy, valid while the tree is. Default-constructed: absent.
class YamlValue {
 public:
  YamlValue() = default;
  YamlValue(const YamlTree* tree, std::uint32_t at) : tree_(tree), at_(at) {}

  explicit operator bool() const { return tree_ != nullptr; }
  YamlType type() const;
  std::int64_t line() const;      // from 1
  std::string_view text() const;  // of a scalar, else Error{data}
  // A plain decimal integer (YAML 1.2 core schema: no octal, hexadecimal, underscores or sexagesimals).
  std::int64_t integer(std::int64_t min, std::int64_t max, const char* noun) const;
  bool is_null() const;                                        // plain, and empty, ~ or null
  std::string_view key() const { return key_value().text(); }  // of a member of a mapping
  YamlValue key_value() const;                                 // the same as a value

  void expect(YamlType type) const;
  std::size_t size() const;                    // items or members
  YamlValue find(std::string_view key) const;  // of a mapping; absent: a false value

  // Items of a sequence, or values of a mapping; of a scalar none.
  class Iterator {
   public:
    Iterator(const YamlTree* tree, std::uint32_t at, bool mapping);
    YamlValue operator*() const { return {tree_, at_}; }
    Iterator& operator++();
    bool operator!=(const Iterator& other) const { return at_ != other.at_; }

   private:
    const YamlTree* tree_;
    std::uint32_t at_;
    bool mapping_;
  };
  Iterator begin() const;
  Iterator end() const;

  std::string place() const;                                                            // "SOURCE:LINE: /PATH"
  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "") const;  // "PLACE: FACT"

 private:
  const YamlTree* tree_ = nullptr;
  std::uint32_t at_ = 0;
};

class YamlTree {
 public:
  // Error{data} "SOURCE:LINE: fact" for what is not one such document. Values are of the tree.
  YamlTree(std::string_view text, std::string source);
  YamlTree(const YamlTree&) = delete;
  YamlTree& operator=(const YamlTree&) = delete;

  YamlValue root() const { return {this, 0}; }

 private:
  friend class YamlValue;
  friend class YamlBuilder;

  struct Node {
    std::uint64_t text_offset;  // of a scalar, in text_
    std::uint32_t text_bytes;   // of a scalar; of a container: how many items or members
    std::uint32_t line;
    std::uint32_t end;  // index behind the subtree
    YamlType type;
    bool plain;  // written without quotes
  };
  // The end of a mapping, as Iterator has it: the index where the value of a next member would stand.
  std::string_view text_of(std::uint32_t at) const {
    return std::string_view(text_).substr(nodes_[at].text_offset, nodes_[at].text_bytes);
  }

  std::string source_;
  std::string text_;
  std::vector<Node> nodes_;  // a member of a mapping is its key, then its value
};

}  // namespace afore::wire
