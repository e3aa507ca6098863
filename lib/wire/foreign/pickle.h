#pragma once
// The part of Python's pickle format that torch.save writes, read as data: nothing is imported or called. Opcodes and
// their meaning: python/cpython, Lib/pickletools.py; tensors: pytorch/pytorch, torch/_utils.py _rebuild_tensor_v2 and
// the persistent ids ("storage", type, key, location, elements) of torch/serialization.py.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "wire/foreign/elements.h"

namespace afore::wire {

enum class PickleType : std::uint8_t {
  none,
  boolean,
  integer,
  real,
  string,
  bytes,
  list,
  tuple,
  dict,
  tensor,
  internal
};

// A view into a storage, as the pickle says; nothing has been held against the storage's bytes.
struct PickleTensor {
  Element element{};
  std::string_view storage;                  // its key
  std::int64_t storage_elements = 0;         // not negative
  std::int64_t offset = 0;                   // elements
  std::vector<std::int64_t> shape, strides;  // elements; as many of one as of the other
};

inline constexpr std::size_t kMaxPickleValues = std::size_t{1} << 24;
inline constexpr int kMaxPickleDepth = 64;

// Values by number. A value may stand at several places; none stands within itself.
class Pickle {
 public:
  using Id = std::uint32_t;

  // Owns the bytes. Error{data} "SOURCE: data.pkl: byte N: fact" for opcodes that torch.save does not write, any
  // function but those of tensors and OrderedDict (refused by name), cycles, and what exceeds the limits above.
  Pickle(std::vector<std::uint8_t> bytes, std::string source);
  // Values are views into it.
  Pickle(const Pickle&) = delete;
  Pickle& operator=(const Pickle&) = delete;
  Pickle(Pickle&&) = default;

  Id root() const { return root_; }
  PickleType type(Id id) const { return nodes_[id].type; }
  std::int64_t integer(Id id) const { return nodes_[id].value; }  // of an integer or a boolean
  std::string_view text(Id id) const;                             // of a string or bytes
  std::span<const Id> items(Id id) const;                         // of list and tuple; of dict: key, value, key, ...
  const PickleTensor& tensor(Id id) const { return tensors_[static_cast<std::size_t>(nodes_[id].value)]; }
  const std::string& source() const { return source_; }

 private:
  friend class PickleReader;

  struct Node {
    PickleType type;
    std::int64_t value;  // integer, bits of a real, offset << 32 | size of a text, index of a container or tensor
  };

  void check_nesting() const;

  std::vector<std::uint8_t> bytes_;
  std::string source_;
  std::vector<Node> nodes_;
  std::vector<std::vector<Id>> containers_;
  std::vector<PickleTensor> tensors_;
  Id root_ = 0;
};

// A value and the way to it, for messages: "records[3].rank".
class PickleView {
 public:
  PickleView(const Pickle& pickle, Pickle::Id id, std::string path)
      : pickle_(&pickle), id_(id), path_(std::move(path)) {}

  PickleType type() const { return pickle_->type(id_); }
  // Of a dict, else Error{data}.
  std::optional<PickleView> find(std::string_view key) const;  // a key twice: Error{data}
  PickleView at(std::string_view key) const;                   // absent: Error{data}
  // The keys, which must be strings.
  std::vector<std::string_view> keys() const;
  // Of a list or tuple, else Error{data}.
  std::size_t size() const;
  PickleView item(std::size_t i) const;
  std::int64_t integer() const;
  std::string_view string() const;
  const PickleTensor& tensor() const;
  const std::string& path() const { return path_; }

  // "SOURCE: PATH: FACT"
  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "") const;

 private:
  [[noreturn]] void fail_type(const char* expected) const;
  PickleView below(std::string_view key, Pickle::Id id) const;

  const Pickle* pickle_;
  Pickle::Id id_;
  std::string path_;
};

}  // namespace afore::wire
