#include <fmt/format.h>

#include "nn/jinja/evaluator.h"
#include "nn/jinja/operators.h"
#include "nn/jinja/print.h"

namespace afore::nn::jinja {

void Evaluator::fail_undefined(const Value& value) {
  const int name = std::get<Undefined>(value).name;
  if (name < 0) run_.fail("something undefined is used");
  if (name_of(name) == "strftime_now") run_.fail("strftime_now is not computed: the prompt would depend on the day");
  run_.fail(fmt::format("'{}' is undefined", name_of(name).substr(0, 100)));
}

Value Evaluator::evaluate(int i) {
  const Deeper deeper(run_);
  const Node& node = at(i);
  run_.charge(1);
  run_.line = node.line;
  return evaluate_node(node);
}

Value Evaluator::evaluate_node(const Node& node) {
  switch (node.op) {
    case Op::constant: return program_.constants[static_cast<std::size_t>(node.value)];
    case Op::name: return look_up(node);
    case Op::list: return run_.list(evaluate_all(node));
    case Op::tuple: return run_.sequence(Flavour::tuple, evaluate_all(node));
    case Op::dict: return dict(node);
    case Op::attribute: return attribute(node);
    case Op::item: return item(node);
    case Op::slice: return slice(node);
    case Op::call: return call(node);
    case Op::method: return method(node);
    case Op::filter: return filter(node, evaluate(child(node, 0)));
    case Op::map_attribute: return map_attribute(node);
    case Op::map_filter: return map_filter(node);
    case Op::select: return select(node);
    case Op::test: {
      const Value input = evaluate(child(node, 0));
      const Bound given = bound(node, 1);
      run_.line = node.line;
      return node.test->holds(run_, input, given.arguments);
    }
    case Op::negative:
    case Op::positive: {
      const Value value = evaluate(child(node, 0));
      need(value);
      const Value negative = negate(run_, value);
      return node.op == Op::negative ? negative : negate(run_, negative);
    }
    case Op::logical_not: return !truth(evaluate(child(node, 0)));
    case Op::logical_and: {
      Value value = evaluate(child(node, 0));
      return truth(value) ? evaluate(child(node, 1)) : value;
    }
    case Op::logical_or: {
      Value value = evaluate(child(node, 0));
      return truth(value) ? value : evaluate(child(node, 1));
    }
    case Op::binary: return binary(node);
    case Op::concat: return concat(node);
    case Op::compare:
    case Op::chain: return comparison(node);
    case Op::conditional:
      if (truth(evaluate(child(node, 0)))) return evaluate(child(node, 1));
      return evaluate_or(child(node, 2), Undefined{});
    case Op::loop: return loop_part(node);
    default: break;
  }
  run_.fail("an expression that is none");
}

std::vector<Value> Evaluator::evaluate_all(const Node& node, int from) {
  std::vector<Value> values;
  for (int i = from; i < node.count; ++i) values.push_back(evaluate(child(node, i)));
  return values;
}

Value Evaluator::look_up(const Node& node) {
  for (const Scope* scope = scope_; scope != nullptr; scope = scope->parent)
    for (const auto& [name, value] : scope->variables)
      if (name == node.name) return value;
  return Undefined{node.name};
}

Value Evaluator::dict(const Node& node) {
  std::vector<std::pair<Value, Value>> members;
  for (int i = 0; i < node.count; i += 2) {
    Value key = evaluate(child(node, i));
    insert(run_, members, std::move(key), evaluate(child(node, i + 1)));
  }
  return run_.mapping(std::move(members));
}

Value Evaluator::attribute(const Node& node) {
  const Value object = evaluate(child(node, 0));
  need(object);
  const std::string& name = name_of(node.name);
  if (const auto* space = std::get_if<Namespace*>(&object)) {
    for (const auto& [held, value] : (*space)->members)
      if (held == node.name) return value;
    return Undefined{node.name};
  }
  if (has_python_attribute(object, name)) run_.fail(fmt::format("the method {} as a value is not computed", name));
  if (const Mapping* mapping = as_mapping(object)) {
    run_.charge(mapping->members.size() / 8);
    for (const auto& [key, value] : mapping->members)
      if (as_text(key) != nullptr && *as_text(key) == name) return value;
  }
  return Undefined{node.name};
}

Value Evaluator::item(const Node& node) {
  const Value object = evaluate(child(node, 0));
  const Value key = evaluate(child(node, 1));
  run_.line = node.line;
  need(object);
  const std::string* name = as_text(key);
  if (const auto* space = std::get_if<Namespace*>(&object)) {
    for (const auto& [held, value] : (*space)->members)
      if (name != nullptr && name_of(held) == *name) return value;
    return Undefined{};
  }
  Value found = item_of(run_, object, key);
  if (is_undefined(found) && name != nullptr && has_python_attribute(object, *name))
    run_.fail(fmt::format("the method {} as a value is not computed", *name));
  return found;
}

Value Evaluator::slice(const Node& node) {
  const Value object = evaluate(child(node, 0));
  const Value start = evaluate_or(child(node, 1), None{}), stop = evaluate_or(child(node, 2), None{}),
              step = evaluate_or(child(node, 3), None{});
  run_.line = node.line;
  need(object);
  return jinja::slice(run_, object, start, stop, step);
}

Value Evaluator::binary(const Node& node) {
  const Value a = evaluate(child(node, 0)), b = evaluate(child(node, 1));
  run_.line = node.line;
  const auto op = static_cast<Operator>(node.code);
  need(a);
  if (op != Operator::modulo || as_text(a) == nullptr) need(b);  // what formats a string may be undefined
  return compute(run_, op, a, b);
}

Value Evaluator::concat(const Node& node) {
  std::string text;
  for (int i = 0; i < node.count; ++i) {
    text += str(run_, evaluate(child(node, i)));
    if (text.size() > kMaxTextBytes) run_.charge_bytes(text.size());  // says that it is too long
  }
  return run_.text(std::move(text));
}

bool Evaluator::compare_two(Comparison op, const Value& a, const Value& b) {
  if (op >= Comparison::less && op <= Comparison::greater_equal) need(a), need(b);
  return compare(run_, op, a, b);
}

Value Evaluator::comparison(const Node& node) {
  Value left = evaluate(child(node, 0));
  for (int i = 1; i < node.count; ++i) {
    Value right = evaluate(child(node, i));
    run_.line = node.line;
    const auto code =
        node.op == Op::compare ? node.code : program_.comparisons[static_cast<std::size_t>(node.value + i - 1)];
    if (!compare_two(static_cast<Comparison>(code), left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::loop_part(const Node& node) {
  if (loop_ == nullptr) run_.fail("'loop' is undefined");
  Loop& loop = *loop_;
  const auto integer = [](std::size_t value) { return static_cast<std::int64_t>(value); };
  switch (static_cast<LoopPart>(node.code)) {
    case LoopPart::index: return integer(loop.index + 1);
    case LoopPart::index0: return integer(loop.index);
    case LoopPart::first: return loop.index == 0;
    case LoopPart::last: return !fetch(loop, loop.index + 2);
    case LoopPart::depth: return std::int64_t{1};
    case LoopPart::depth0: return std::int64_t{0};
    case LoopPart::previtem: return loop.index == 0 ? Value(Undefined{}) : loop.passed[loop.index - 1];
    case LoopPart::nextitem: return fetch(loop, loop.index + 2) ? loop.passed[loop.index + 1] : Value(Undefined{});
    case LoopPart::cycle:
    case LoopPart::changed: return cycle_or_changed(node);
    default: break;
  }
  fetch(loop, loop.raw.size());
  const std::size_t length = loop.passed.size();
  if (static_cast<LoopPart>(node.code) == LoopPart::length) return integer(length);
  return integer(length - loop.index - (static_cast<LoopPart>(node.code) == LoopPart::revindex ? 0 : 1));
}

Value Evaluator::cycle_or_changed(const Node& node) {
  Loop& loop = *loop_;
  std::vector<Value> values = evaluate_all(node);
  if (static_cast<LoopPart>(node.code) == LoopPart::cycle) return values[loop.index % values.size()];
  bool same = loop.changed && loop.changed->size() == values.size();
  for (std::size_t i = 0; same && i < values.size(); ++i) same = equal(run_, (*loop.changed)[i], values[i]);
  loop.changed = std::move(values);
  return !same;
}

}  // namespace afore::nn::jinja
