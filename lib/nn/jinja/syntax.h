#pragma once
// A template as a flat tree: nodes refer to others by number, so that no depth of nesting is freed by recursion.
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/jinja/value.h"

namespace afore::nn::jinja {

struct Filter;
struct Test;
struct Method;

inline constexpr int kAbsent = -1;  // as a child

// Behind each: its children, in order; those in brackets may be kAbsent.
enum class Op : std::uint8_t {
  // Expressions
  constant,       // `value` in Program::constants
  name,           // `name`
  list,           // items
  tuple,          // items
  dict,           // key, value, key, value, ...
  attribute,      // object; `name`
  item,           // object, index
  slice,          // object, [start], [stop], [step]
  call,           // callee, positional arguments, keywords
  method,         // object, arguments by place; `name`, `method`
  filter,         // [input], arguments by place; `filter`. Without input: of a block that is set
  map_filter,     // input, [arguments by place of the filter]; `filter`
  map_attribute,  // input, attribute, [default]
  select,         // input, [attribute], arguments by place of the test; `test` or null, `flag`: rejects
  test,           // input, arguments by place; `test`
  keyword,        // value; `name`
  negative,       // operand
  positive,       // operand
  logical_not,    // operand
  logical_and,    // a, b
  logical_or,     // a, b
  binary,         // a, b; `code`: Operator
  concat,         // parts
  compare,        // a, b; `code`: Comparison
  chain,          // a, b, c, ...; `value`: the first of its Comparisons in Program::comparisons
  conditional,    // condition, then, [else]
  loop,           // arguments of cycle and changed; `code`: LoopPart
  // Targets of assignments
  target,            // `name`
  target_tuple,      // targets
  target_attribute,  // the namespace; `name`
  // Statements
  text,          // `value` in Program::constants
  print,         // expression
  block,         // statements
  branch,        // condition, block, condition, block, ..., [block]
  loop_over,     // target, iterated, [condition], block, [block if no item came to its end]
  assign,        // target, expression
  assign_block,  // target, [filter], block
  macro,  // block, default or kAbsent of each parameter; `name`, `value`: the first parameter in Program::parameters
  loop_break,
  loop_continue,
  scope,  // block
};

enum class LoopPart : std::uint8_t {
  index,
  index0,
  revindex,
  revindex0,
  first,
  last,
  length,
  previtem,
  nextitem,
  depth,
  depth0,
  cycle,
  changed,
};

struct Node {
  Op op = Op::constant;
  std::uint8_t code = 0;
  bool flag = false;
  int line = 0;
  int depth = 1;  // of the tree below
  int name = -1;
  int value = -1;
  int first = 0, count = 0;  // children in Program::children
  const Filter* filter = nullptr;
  const Test* test = nullptr;
  const Method* method = nullptr;
};

struct Program {
  std::vector<Node> nodes;
  std::vector<int> children;
  std::vector<std::string> names;
  std::vector<Value> constants;
  std::vector<std::uint8_t> comparisons;
  std::vector<int> parameters;  // names
  int root = kAbsent;           // a block

  std::span<const int> children_of(const Node& node) const {
    return std::span(children).subspan(static_cast<std::size_t>(node.first), static_cast<std::size_t>(node.count));
  }
};

// Error{data} "SOURCE:LINE: FACT" for what is no template, and for what of it is not known here.
Program parse(std::string_view text, const std::string& source);

}  // namespace afore::nn::jinja
