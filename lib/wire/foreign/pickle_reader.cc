// The machine behind Pickle: a stack, marks into it, and a memo. Everything it allocates is bounded by the bytes it
// has read: an opcode makes at most one value, a memo slot beyond the pickle's length is refused, and so are copies of
// more values than it has bytes.
#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"
#include "wire/foreign/pickle.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

constexpr std::size_t kMaxMarks = 1024;  // open at once; each is a container being built
constexpr std::uint32_t kNoValue = UINT32_MAX;

struct StorageClass {
  std::string_view name;
  Element element;
};
// pytorch/pytorch, torch/storage.py, the classes that torch.save names.
constexpr StorageClass kStorageClasses[] = {{"ByteStorage", Element::u8},    {"CharStorage", Element::i8},
                                            {"ShortStorage", Element::i16},  {"IntStorage", Element::i32},
                                            {"LongStorage", Element::i64},   {"HalfStorage", Element::f16},
                                            {"FloatStorage", Element::f32},  {"BFloat16Storage", Element::bf16},
                                            {"DoubleStorage", Element::f64}, {"BoolStorage", Element::boolean}};

// Opcodes that are Python's but build or call objects.
const char* name_of_refused(std::uint8_t opcode) {
  switch (opcode) {
    case 'b': return "BUILD";
    case 'i': return "INST";
    case 'o': return "OBJ";
    case 'P': return "PERSID";
    case 0x81: return "NEWOBJ";
    case 0x82:
    case 0x83:
    case 0x84: return "EXT";
    case 0x92: return "NEWOBJ_EX";
    default: return nullptr;
  }
}

}  // namespace

class PickleReader {
 public:
  explicit PickleReader(Pickle& pickle) : out_(pickle), bytes_(pickle.bytes_), copies_left_(bytes_.size()) {}
  void read();

 private:
  using Id = Pickle::Id;
  enum class Internal : std::uint8_t { rebuild_tensor, ordered_dict, storage_class, storage };
  struct Storage {
    Element element;
    std::string_view key;
    std::int64_t elements;
  };

  [[noreturn]] void fail(const std::string& fact, const std::string& hint = "") const;
  [[noreturn]] void refuse_call(const std::string& name) const;

  std::span<const std::uint8_t> take(std::uint64_t size);
  std::uint64_t number(std::size_t size);
  std::string_view line();

  Id make(PickleType type, std::int64_t value);
  void push(PickleType type, std::int64_t value) { stack_.push_back(make(type, value)); }
  void push_text(PickleType type, std::uint64_t size);
  void push_long(std::uint64_t size);
  void push_container(PickleType type, std::size_t first);
  void push_internal(Internal kind, std::size_t index);
  void push_global(std::string_view module, std::string_view name);
  Id pop();
  std::size_t pop_mark();
  void need(std::size_t values) const;

  void step(std::uint8_t opcode);
  bool step_container(std::uint8_t opcode);
  bool step_scalar(std::uint8_t opcode);
  bool step_memo(std::uint8_t opcode);
  void append(std::size_t first, PickleType type);
  void remember(std::uint64_t slot);
  void recall(std::uint64_t slot);
  void stack_global();
  void persistent();
  void reduce();
  void rebuild_tensor(std::span<const Id> arguments);
  void ordered_dict(std::span<const Id> arguments);
  std::vector<std::int64_t> extents(Id id, const char* noun) const;

  Internal internal_of(Id id) const { return static_cast<Internal>(out_.nodes_[id].value & 7); }
  std::size_t index_of(Id id) const { return static_cast<std::size_t>(out_.nodes_[id].value >> 3); }
  bool is_internal(Id id, Internal kind) const {
    return out_.type(id) == PickleType::internal && internal_of(id) == kind;
  }
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }

  Pickle& out_;
  const std::vector<std::uint8_t>& bytes_;
  std::size_t at_ = 0, opcode_at_ = 0;
  std::vector<Id> stack_, memo_;
  std::vector<std::size_t> marks_;
  std::vector<Element> classes_;
  std::vector<Storage> storages_;
  std::size_t memoized_ = 0;  // of MEMOIZE, which numbers its slots itself
  std::size_t copies_left_;   // values that OrderedDicts may still take from lists, which stay where they are
};

void PickleReader::fail(const std::string& fact, const std::string& hint) const {
  throw Error(ErrorKind::data, fmt::format("{}: data.pkl: byte {}: {}", out_.source_, opcode_at_, fact), hint);
}

void PickleReader::refuse_call(const std::string& name) const {
  const std::string shown = in_quotes(name);
  fail("the pickle calls " + shown.substr(1, shown.size() - 2) + ": this reader runs nothing",
       "only dicts, lists, numbers, strings and plain tensors are read; do not load the file elsewhere if you do not "
       "trust it");
}

std::span<const std::uint8_t> PickleReader::take(std::uint64_t size) {
  if (size > bytes_.size() - at_)
    fail(fmt::format("{} bytes are asked for, {} are left", size, bytes_.size() - at_), "was the file cut off?");
  const std::span<const std::uint8_t> taken(bytes_.data() + at_, size);
  at_ += size;
  return taken;
}

std::uint64_t PickleReader::number(std::size_t size) {
  const std::span<const std::uint8_t> digits = take(size);
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = value << 8 | digits[i];
  return value;
}

std::string_view PickleReader::line() {
  const auto end = std::find(bytes_.begin() + static_cast<std::ptrdiff_t>(at_), bytes_.end(), '\n');
  if (end == bytes_.end()) fail("a name does not end", "was the file cut off?");
  const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + at_,
                              static_cast<std::size_t>(end - bytes_.begin()) - at_);
  at_ += text.size() + 1;
  return text;
}

PickleReader::Id PickleReader::make(PickleType type, std::int64_t value) {
  if (out_.nodes_.size() >= kMaxPickleValues) fail(fmt::format("there are more than {} values", kMaxPickleValues));
  out_.nodes_.push_back({type, value});
  return static_cast<Id>(out_.nodes_.size() - 1);
}

void PickleReader::push_text(PickleType type, std::uint64_t size) {
  const std::uint64_t offset = at_;
  take(size);
  push(type, static_cast<std::int64_t>(offset << 32 | size));
}

void PickleReader::push_long(std::uint64_t size) {
  if (size > 8) fail(fmt::format("an integer has {} bytes, more than 8", size));
  std::uint64_t value = number(size);
  if (size > 0 && size < 8 && (value >> (8 * size - 1) & 1)) value |= UINT64_MAX << 8 * size;  // two's complement
  push(PickleType::integer, static_cast<std::int64_t>(value));
}

void PickleReader::push_container(PickleType type, std::size_t first) {
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(first);
  out_.containers_.emplace_back(begin, stack_.end());
  stack_.erase(begin, stack_.end());
  push(type, static_cast<std::int64_t>(out_.containers_.size() - 1));
}

void PickleReader::push_internal(Internal kind, std::size_t index) {
  push(PickleType::internal, static_cast<std::int64_t>(index << 3 | static_cast<std::size_t>(kind)));
}

void PickleReader::push_global(std::string_view module, std::string_view name) {
  if (module == "torch._utils" && name == "_rebuild_tensor_v2") return push_internal(Internal::rebuild_tensor, 0);
  if (module == "collections" && name == "OrderedDict") return push_internal(Internal::ordered_dict, 0);
  if (module == "torch" || module == "torch.storage")
    for (const StorageClass& known : kStorageClasses)
      if (name == known.name) {
        classes_.push_back(known.element);
        return push_internal(Internal::storage_class, classes_.size() - 1);
      }
  refuse_call(std::string(module) + "." + std::string(name));
}

void PickleReader::need(std::size_t values) const {
  if (stack_.size() < floor() + values) fail("the stack has too few values");
}

PickleReader::Id PickleReader::pop() {
  need(1);
  const Id top = stack_.back();
  stack_.pop_back();
  return top;
}

std::size_t PickleReader::pop_mark() {
  if (marks_.empty()) fail("there is no mark");
  const std::size_t mark = marks_.back();
  marks_.pop_back();
  return mark;
}

// Moves what is above `first` to the container below it.
void PickleReader::append(std::size_t first, PickleType type) {
  if (first <= floor() || out_.type(stack_[first - 1]) != type)
    fail(std::string("there is no ") + (type == PickleType::dict ? "dict" : "list") + " to add to");
  if (type == PickleType::dict && (stack_.size() - first) % 2 != 0) fail("a key has no value");
  std::vector<Id>& items = out_.containers_[static_cast<std::size_t>(out_.nodes_[stack_[first - 1]].value)];
  const auto begin = stack_.begin() + static_cast<std::ptrdiff_t>(first);
  items.insert(items.end(), begin, stack_.end());
  stack_.erase(begin, stack_.end());
}

void PickleReader::remember(std::uint64_t slot) {
  need(1);
  if (slot >= bytes_.size()) fail(fmt::format("memo slot {} is beyond the pickle's length", slot));
  if (slot >= memo_.size()) memo_.resize(slot + 1, kNoValue);
  memo_[slot] = stack_.back();
}

void PickleReader::recall(std::uint64_t slot) {
  if (slot >= memo_.size() || memo_[slot] == kNoValue) fail(fmt::format("memo slot {} is empty", slot));
  stack_.push_back(memo_[slot]);
}

void PickleReader::stack_global() {
  need(2);
  const Id name = pop(), module = pop();
  if (out_.type(name) != PickleType::string || out_.type(module) != PickleType::string)
    fail("the name of a function is no str");
  push_global(out_.text(module), out_.text(name));
}

void PickleReader::persistent() {
  const Id id = pop();
  if (out_.type(id) != PickleType::tuple) fail("a persistent id is no tuple");
  const std::span<const Id> parts = out_.items(id);
  if (parts.size() != 5 || out_.type(parts[0]) != PickleType::string || out_.text(parts[0]) != "storage" ||
      !is_internal(parts[1], Internal::storage_class) || out_.type(parts[2]) != PickleType::string ||
      out_.type(parts[4]) != PickleType::integer)
    fail("a persistent id is not ('storage', class, key, location, elements)");
  const std::int64_t elements = out_.integer(parts[4]);
  if (elements < 0) fail(fmt::format("a storage has {} elements", elements));
  storages_.push_back({classes_[index_of(parts[1])], out_.text(parts[2]), elements});
  push_internal(Internal::storage, storages_.size() - 1);
}

std::vector<std::int64_t> PickleReader::extents(Id id, const char* noun) const {
  if (out_.type(id) != PickleType::tuple) fail(fmt::format("a tensor's {} is no tuple", noun));
  const std::span<const Id> items = out_.items(id);
  if (items.size() > 8) fail(fmt::format("a tensor has {} dimensions, more than 8", items.size()));
  std::vector<std::int64_t> values;
  for (const Id item : items) {
    if (out_.type(item) != PickleType::integer) fail(fmt::format("a tensor's {} is not of ints", noun));
    if (out_.integer(item) < 0) fail(fmt::format("a tensor's {} has {}", noun, out_.integer(item)));
    values.push_back(out_.integer(item));
  }
  return values;
}

void PickleReader::rebuild_tensor(std::span<const Id> arguments) {
  // storage, offset, size, stride, requires_grad, hooks and, sometimes, metadata
  if (arguments.size() < 6 || arguments.size() > 7 || !is_internal(arguments[0], Internal::storage) ||
      out_.type(arguments[1]) != PickleType::integer)
    fail("a tensor is not of (storage, offset, size, stride, requires_grad, hooks)");
  const Storage& storage = storages_[index_of(arguments[0])];
  PickleTensor tensor{storage.element,
                      storage.key,
                      storage.elements,
                      out_.integer(arguments[1]),
                      extents(arguments[2], "size"),
                      extents(arguments[3], "stride")};
  if (tensor.offset < 0) fail(fmt::format("a tensor's offset is {}", tensor.offset));
  if (tensor.shape.size() != tensor.strides.size())
    fail(fmt::format("a tensor has {} sizes and {} strides", tensor.shape.size(), tensor.strides.size()));
  out_.tensors_.push_back(std::move(tensor));
  push(PickleType::tensor, static_cast<std::int64_t>(out_.tensors_.size() - 1));
}

void PickleReader::ordered_dict(std::span<const Id> arguments) {
  const std::size_t first = stack_.size();
  if (arguments.size() > 1 || (arguments.size() == 1 && out_.type(arguments[0]) != PickleType::list))
    fail("an OrderedDict is not of a list of pairs");
  if (arguments.size() == 1) {
    // The memo gives the same list to any number of dicts; written out, a pair has more bytes than two.
    const std::size_t copies = 2 * out_.items(arguments[0]).size();
    if (copies > copies_left_) fail("the OrderedDicts have more values than the pickle has bytes");
    copies_left_ -= copies;
    for (const Id pair : out_.items(arguments[0])) {
      if ((out_.type(pair) != PickleType::tuple && out_.type(pair) != PickleType::list) || out_.items(pair).size() != 2)
        fail("an OrderedDict is not of a list of pairs");
      for (const Id part : out_.items(pair)) stack_.push_back(part);
    }
  }
  push_container(PickleType::dict, first);
}

void PickleReader::reduce() {
  need(2);
  const Id arguments = pop(), function = pop();
  if (out_.type(arguments) != PickleType::tuple) fail("the arguments of a call are no tuple");
  // Copied: what is built may move the containers.
  const std::vector<Id> values(out_.items(arguments).begin(), out_.items(arguments).end());
  if (is_internal(function, Internal::rebuild_tensor)) rebuild_tensor(values);
  else if (is_internal(function, Internal::ordered_dict)) ordered_dict(values);
  else fail("the pickle calls what is no function");
}

bool PickleReader::step_scalar(std::uint8_t opcode) {
  switch (opcode) {
    case 'N': push(PickleType::none, 0); return true;
    case 0x88: push(PickleType::boolean, 1); return true;
    case 0x89: push(PickleType::boolean, 0); return true;
    case 'J': push(PickleType::integer, static_cast<std::int32_t>(number(4))); return true;
    case 'K': push(PickleType::integer, static_cast<std::int64_t>(number(1))); return true;
    case 'M': push(PickleType::integer, static_cast<std::int64_t>(number(2))); return true;
    case 0x8a: push_long(number(1)); return true;
    case 0x8b: push_long(number(4)); return true;
    case 'G': push(PickleType::real, static_cast<std::int64_t>(__builtin_bswap64(number(8)))); return true;
    case 'X': push_text(PickleType::string, number(4)); return true;
    case 0x8c: push_text(PickleType::string, number(1)); return true;
    case 0x8d: push_text(PickleType::string, number(8)); return true;
    case 'B': push_text(PickleType::bytes, number(4)); return true;
    case 'C': push_text(PickleType::bytes, number(1)); return true;
    case 0x8e: push_text(PickleType::bytes, number(8)); return true;
    default: return false;
  }
}

bool PickleReader::step_container(std::uint8_t opcode) {
  switch (opcode) {
    case '(':
      if (marks_.size() >= kMaxMarks) fail(fmt::format("more than {} marks are open", kMaxMarks));
      marks_.push_back(stack_.size());
      return true;
    case '}': push_container(PickleType::dict, stack_.size()); return true;
    case ']': push_container(PickleType::list, stack_.size()); return true;
    case ')': push_container(PickleType::tuple, stack_.size()); return true;
    case 't': push_container(PickleType::tuple, pop_mark()); return true;
    case 0x85:
    case 0x86:
    case 0x87: {
      const std::size_t size = opcode - 0x84u;
      need(size);
      push_container(PickleType::tuple, stack_.size() - size);
      return true;
    }
    case 'a':
      need(2);
      append(stack_.size() - 1, PickleType::list);
      return true;
    case 's':
      need(3);
      append(stack_.size() - 2, PickleType::dict);
      return true;
    case 'e': append(pop_mark(), PickleType::list); return true;
    case 'u': append(pop_mark(), PickleType::dict); return true;
    default: return false;
  }
}

bool PickleReader::step_memo(std::uint8_t opcode) {
  switch (opcode) {
    case 'q': remember(number(1)); return true;
    case 'r': remember(number(4)); return true;
    case 0x94: remember(memoized_++); return true;
    case 'h': recall(number(1)); return true;
    case 'j': recall(number(4)); return true;
    default: return false;
  }
}

void PickleReader::step(std::uint8_t opcode) {
  if (step_scalar(opcode) || step_container(opcode) || step_memo(opcode)) return;
  if (const char* name = name_of_refused(opcode))
    fail(fmt::format("the pickle builds an object ({}): this reader runs nothing", name));
  switch (opcode) {
    case 0x95:  // a frame, which only says how much to buffer
      if (number(8) > bytes_.size() - at_) fail("a frame ends behind the pickle", "was the file cut off?");
      return;
    case 'c': {
      const std::string_view module = line();
      return push_global(module, line());
    }
    case 0x93: return stack_global();
    case 'Q': return persistent();
    case 'R': return reduce();
    default: fail(fmt::format("opcode {:#04x} is none that torch.save writes", opcode));
  }
}

void PickleReader::read() {
  if (bytes_.size() > UINT32_MAX) fail("the pickle has more than 2^32 bytes");
  if (number(1) != 0x80) fail("does not begin as a pickle of protocol 2 or later");
  const std::uint64_t protocol = number(1);
  if (protocol < 2 || protocol > 4)
    fail(fmt::format("protocol {} is not read", protocol), "torch.save(..., pickle_protocol=2) is its default");
  while (true) {
    opcode_at_ = at_;
    const auto opcode = static_cast<std::uint8_t>(number(1));
    if (opcode == '.') break;
    step(opcode);
  }
  if (stack_.size() != 1 || !marks_.empty()) fail("the pickle ends with more or less than one value");
  if (at_ != bytes_.size()) fail(fmt::format("{} bytes follow the end", bytes_.size() - at_));
  out_.root_ = stack_[0];
  out_.check_nesting();
}

Pickle::Pickle(std::vector<std::uint8_t> bytes, std::string source)
    : bytes_(std::move(bytes)), source_(std::move(source)) {
  PickleReader(*this).read();
}

}  // namespace afore::wire
