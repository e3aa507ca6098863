#include <fmt/format.h>

#include "nn/jinja/evaluator.h"
#include "nn/jinja/operators.h"
#include "nn/jinja/print.h"

namespace afore::nn::jinja {

Evaluator::Inner::Inner(Evaluator& owner, Scope* parent, Loop* loop)
    : owner_(owner), own_(std::make_unique<Scope>()), outer_(owner.scope_), outer_loop_(owner.loop_) {
  own_->parent = parent;
  owner.scope_ = own_.get();
  owner.loop_ = loop;
}

Evaluator::Inner::~Inner() {
  owner_.scope_ = outer_;
  owner_.loop_ = outer_loop_;
  if (own_->captured) owner_.kept_.push_back(std::move(own_));
}

std::string Evaluator::render(const Variables& variables) {
  Inner root(*this, nullptr, nullptr);
  Variables all{{"range", Function::range},
                {"dict", Function::dict},
                {"namespace", Function::new_namespace},
                {"raise_exception", Function::raise_exception}};
  all.insert(all.end(), variables.begin(), variables.end());
  for (std::size_t name = 0; name < program_.names.size(); ++name)
    for (const auto& [word, value] : all)
      if (program_.names[name] == word) set_variable(root.scope(), static_cast<int>(name), value);
  execute(program_.root);
  return std::move(out_);
}

std::string render(const Program& program, const std::string& source, const Variables& variables) {
  return Evaluator(program, source).render(variables);
}

void Evaluator::put(std::string_view text) {
  run_.charge(text.size() / 32);
  if (text.size() > kMaxTextBytes - out_.size())
    run_.fail(fmt::format("the prompt is longer than {} MiB", kMaxTextBytes >> 20));
  out_ += text;
}

Evaluator::Flow Evaluator::execute(int i) {
  const Deeper deeper(run_);
  const Node& node = at(i);
  run_.charge(1);
  run_.line = node.line;
  switch (node.op) {
    case Op::text: put(*as_text(program_.constants[static_cast<std::size_t>(node.value)])); break;
    case Op::print: put(str(run_, evaluate(child(node, 0)))); break;
    case Op::block: return execute_block(node);
    case Op::branch: return branch(node);
    case Op::loop_over: return loop_over(node);
    case Op::assign: assign(child(node, 0), evaluate(child(node, 1))); break;
    case Op::assign_block: return assign_block(node);
    case Op::macro: define_macro(node); break;
    case Op::loop_break: return Flow::stop_loop;
    case Op::loop_continue: return Flow::next_item;
    case Op::scope: {
      const Inner inner(*this, scope_, loop_);
      execute(child(node, 0));
      break;
    }
    default: run_.fail("a statement that is none");
  }
  return Flow::next;
}

Evaluator::Flow Evaluator::execute_block(const Node& node) {
  for (int i = 0; i < node.count; ++i)
    if (const Flow flow = execute(child(node, i)); flow != Flow::next) return flow;
  return Flow::next;
}

Evaluator::Flow Evaluator::branch(const Node& node) {
  int i = 0;
  for (; i + 1 < node.count; i += 2)
    if (truth(evaluate(child(node, i)))) return execute(child(node, i + 1));
  return i < node.count ? execute(child(node, i)) : Flow::next;
}

// Whether the loop has `count` items that pass its condition, which are then in `passed`.
bool Evaluator::fetch(Loop& loop, std::size_t count) {
  while (loop.passed.size() < count && loop.next < loop.raw.size()) {
    Value item = std::move(loop.raw[loop.next++]);
    if (passes(loop, item)) loop.passed.push_back(std::move(item));
  }
  return loop.passed.size() >= count;
}

bool Evaluator::passes(Loop& loop, const Value& item) {
  const int condition = child(*loop.node, 2);
  if (condition == kAbsent) return true;
  const Inner inner(*this, loop.scope, nullptr);
  assign(child(*loop.node, 0), item);
  return truth(evaluate(condition));
}

Evaluator::Flow Evaluator::loop_over(const Node& node) {
  Loop loop;
  loop.node = &node;
  loop.scope = scope_;
  const Value over = evaluate(child(node, 1));
  run_.line = node.line;
  loop.raw = iterate(run_, over);
  bool whole = false;  // whether an item came to the end of the block: else stands for none that did
  for (; fetch(loop, loop.index + 1); ++loop.index) {
    const Inner inner(*this, loop.scope, &loop);
    assign(child(node, 0), loop.passed[loop.index]);
    const Flow flow = execute(child(node, 3));
    if (flow == Flow::stop_loop) break;
    whole |= flow == Flow::next;
  }
  if (whole || child(node, 4) == kAbsent) return Flow::next;
  const Inner inner(*this, scope_, loop_);
  return execute(child(node, 4));
}

void Evaluator::set_variable(Scope& scope, int name, Value value) {
  for (auto& [held, old] : scope.variables) {
    if (held != name) continue;
    old = std::move(value);
    return;
  }
  scope.variables.emplace_back(name, std::move(value));
}

void Evaluator::assign(int target, const Value& value) {
  const Node& node = at(target);
  if (node.op == Op::target) return set_variable(*scope_, node.name, value);
  run_.line = node.line;
  if (node.op == Op::target_tuple) {
    const std::vector<Value> values = iterate(run_, value);
    if (values.size() != static_cast<std::size_t>(node.count))
      run_.fail(fmt::format("{} values for {} names", values.size(), node.count));
    for (int i = 0; i < node.count; ++i) assign(child(node, i), values[static_cast<std::size_t>(i)]);
    return;
  }
  const Value object = evaluate(child(node, 0));
  const auto* space = std::get_if<Namespace*>(&object);
  if (space == nullptr)
    run_.fail(fmt::format("an attribute of {} cannot be set, only of a namespace", type_name(object)));
  for (auto& [name, held] : (*space)->members) {
    if (name != node.name) continue;
    held = value;
    return;
  }
  (*space)->members.emplace_back(node.name, value);
}

Evaluator::Flow Evaluator::assign_block(const Node& node) {
  std::string outer = std::move(out_);
  out_.clear();
  {
    const Inner inner(*this, scope_, loop_);
    const Flow flow = execute(child(node, 2));
    std::swap(out_, outer);
    if (flow != Flow::next) return flow;  // and with it what the block had
  }
  Value value = run_.text(std::move(outer));
  // Filters stand one within the other, the first one innermost and without an input.
  std::vector<int> filters;
  for (int i = child(node, 1); i != kAbsent; i = child(at(i), 0)) filters.push_back(i);
  for (; !filters.empty(); filters.pop_back()) value = filter(at(filters.back()), std::move(value));
  assign(child(node, 0), value);
  return Flow::next;
}

void Evaluator::define_macro(const Node& node) {
  run_.charge(8);
  for (Scope* scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) {
    scope->captured = true;
    ++captured_;
  }
  if (captured_ > kept_.capacity()) kept_.reserve(2 * captured_);  // so that no scope's end allocates
  set_variable(*scope_, node.name, &macros_.emplace_back(Macro{&node, scope_}));
}

}  // namespace afore::nn::jinja
