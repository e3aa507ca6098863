#pragma once
// Runs a program over one conversation's variables. evaluate.cc has expressions, call.cc what is called, execute.cc
// statements.
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "nn/jinja/builtins.h"
#include "nn/jinja/operators.h"
#include "nn/jinja/syntax.h"

namespace afore::nn::jinja {

using Variables = std::vector<std::pair<std::string_view, Value>>;

// Error{data}: the template's own refusal, what it asks of values that they do not have, and the bounds of run.h.
std::string render(const Program& program, const std::string& source, const Variables& variables);

// Names and their values in one part of the template.
struct Scope {
  Scope* parent = nullptr;
  std::vector<std::pair<int, Value>> variables;
  bool captured = false;  // a macro refers to it
};

struct Macro {
  const Node* node;
  Scope* scope;  // around it
};

class Evaluator {
 public:
  Evaluator(const Program& program, const std::string& source) : program_(program), run_(source) {}
  std::string render(const Variables& variables);

 private:
  // A for under way. Its condition is asked when an item is needed.
  struct Loop {
    const Node* node;
    Scope* scope;  // around it
    std::vector<Value> raw;
    std::size_t next = 0;       // in raw
    std::vector<Value> passed;  // of raw, so far
    std::size_t index = 0;      // in passed
    std::optional<std::vector<Value>> changed;
  };
  enum class Flow { next, stop_loop, next_item };
  class Deeper;
  class Inner;

  const Node& at(int i) const { return program_.nodes[static_cast<std::size_t>(i)]; }
  int child(const Node& node, int i) const { return program_.children[static_cast<std::size_t>(node.first + i)]; }
  const std::string& name_of(int name) const { return program_.names[static_cast<std::size_t>(name)]; }
  [[noreturn]] void fail_undefined(const Value& value);
  void need(const Value& value) {
    if (is_undefined(value)) fail_undefined(value);
  }

  // Expressions.
  Value evaluate(int i);
  Value evaluate_node(const Node& node);
  Value evaluate_or(int i, Value if_absent) { return i == kAbsent ? std::move(if_absent) : evaluate(i); }
  std::vector<Value> evaluate_all(const Node& node, int from = 0);
  Value look_up(const Node& node);
  Value dict(const Node& node);
  Value attribute(const Node& node);
  Value item(const Node& node);
  Value slice(const Node& node);
  Value binary(const Node& node);
  Value concat(const Node& node);
  Value comparison(const Node& node);
  bool compare_two(Comparison op, const Value& a, const Value& b);
  Value loop_part(const Node& node);
  Value cycle_or_changed(const Node& node);

  // Calls.
  struct Given {
    std::vector<Value> positional;
    std::vector<std::pair<int, Value>> keywords;
  };
  struct Bound {
    std::vector<Value> held;
    Arguments arguments{};
  };
  Value call(const Node& node);
  Value call_macro(const Macro& macro, Given given);
  Value call_function(Function function, const Given& given);
  Value range(const Given& given);
  std::vector<std::pair<Value, Value>> members(const Given& given);
  Value method(const Node& node);
  Bound bound(const Node& node, int from);
  Value filter(const Node& node, Value input);
  Value map_attribute(const Node& node);
  Value map_filter(const Node& node);
  Value select(const Node& node);

  // Statements.
  Flow execute(int i);
  Flow execute_block(const Node& node);
  Flow branch(const Node& node);
  Flow loop_over(const Node& node);
  bool fetch(Loop& loop, std::size_t count);
  bool passes(Loop& loop, const Value& item);
  void assign(int target, const Value& value);
  Flow assign_block(const Node& node);
  void define_macro(const Node& node);
  void put(std::string_view text);

  void set_variable(Scope& scope, int name, Value value);

  const Program& program_;
  Run run_;
  std::string out_;
  std::deque<Namespace> namespaces_;
  std::deque<Macro> macros_;
  std::vector<std::unique_ptr<Scope>> kept_;  // captured
  std::size_t captured_ = 0;                  // scopes, kept or still open
  Scope* scope_ = nullptr;
  Loop* loop_ = nullptr;
};

// A level of evaluation within others.
class Evaluator::Deeper {
 public:
  explicit Deeper(Run& run) : run_(run) {
    if (++run_.depth > kMaxDepth) --run_.depth, run_.fail("the chat template's calls nest too deep");
  }
  ~Deeper() { --run_.depth; }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;

 private:
  Run& run_;
};

// A scope within `parent` while this lives, and the loop that `loop` names in it.
class Evaluator::Inner {
 public:
  Inner(Evaluator& owner, Scope* parent, Loop* loop);
  ~Inner();
  Inner(const Inner&) = delete;
  Inner& operator=(const Inner&) = delete;
  Scope& scope() { return *own_; }

 private:
  Evaluator& owner_;
  std::unique_ptr<Scope> own_;
  Scope* const outer_;
  Loop* const outer_loop_;
};

}  // namespace afore::nn::jinja
