#include <fmt/format.h>

#include <algorithm>

#include "nn/jinja/evaluator.h"
#include "nn/jinja/operators.h"
#include "nn/jinja/print.h"

namespace afore::nn::jinja {
namespace {

constexpr std::size_t kMaxRange = 100'000;  // as Jinja's sandbox has it
constexpr std::size_t kMaxWordsBytes = 500;

// A template's own words as a part of one line.
std::string one_line(std::string text) {
  if (text.size() > kMaxWordsBytes) {
    std::size_t end = kMaxWordsBytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
    text = text.substr(0, end) + "...";
  }
  std::replace_if(
      text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }, ' ');
  return text;
}

}  // namespace

Value Evaluator::call(const Node& node) {
  const Value callee = evaluate(child(node, 0));
  run_.line = node.line;
  need(callee);
  Given given;
  for (int i = 1; i < node.count; ++i) {
    const Node& argument = at(child(node, i));
    if (argument.op == Op::keyword) given.keywords.emplace_back(argument.name, evaluate(child(argument, 0)));
    else given.positional.push_back(evaluate(child(node, i)));
  }
  run_.line = node.line;
  if (const auto* macro = std::get_if<const Macro*>(&callee)) return call_macro(**macro, std::move(given));
  if (const auto* function = std::get_if<Function>(&callee)) return call_function(*function, given);
  run_.fail(fmt::format("a call of {}", type_name(callee)));
}

Value Evaluator::call_macro(const Macro& macro, Given given) {
  const Deeper deeper(run_);
  const Node& node = *macro.node;
  const std::size_t parameters = static_cast<std::size_t>(node.count) - 1;
  const auto parameter = [&](std::size_t i) { return program_.parameters[static_cast<std::size_t>(node.value) + i]; };
  const std::string& name = name_of(node.name);
  if (given.positional.size() > parameters)
    run_.fail(fmt::format("the macro {} takes no more than {} arguments", name, parameters));
  std::vector<std::optional<Value>> values(parameters);
  for (std::size_t i = 0; i < given.positional.size(); ++i) values[i] = std::move(given.positional[i]);
  for (auto& [keyword, value] : given.keywords) {
    std::size_t i = 0;
    while (i < parameters && parameter(i) != keyword) ++i;
    if (i == parameters) run_.fail(fmt::format("the macro {} has no argument {}", name, name_of(keyword)));
    if (values[i]) run_.fail(fmt::format("the macro {} gets the argument {} twice", name, name_of(keyword)));
    values[i] = std::move(value);
  }
  Inner inner(*this, macro.scope, nullptr);
  for (std::size_t i = 0; i < parameters; ++i) {
    const int if_absent = child(node, static_cast<int>(i) + 1);
    Value value = values[i] ? std::move(*values[i]) : evaluate_or(if_absent, Undefined{parameter(i)});
    set_variable(inner.scope(), parameter(i), std::move(value));
  }
  std::string outer = std::move(out_);
  out_.clear();
  execute(child(node, 0));
  std::swap(out_, outer);
  return run_.text(std::move(outer));
}

Value Evaluator::call_function(Function function, const Given& given) {
  if (function == Function::raise_exception) {
    if (given.positional.size() != 1) run_.fail("raise_exception takes one argument");
    run_.fail(one_line(str(run_, given.positional[0])));
  }
  if (function == Function::range) return range(given);
  auto all = members(given);
  if (function == Function::dict) return run_.mapping(std::move(all));
  run_.charge(8);
  Namespace& space = namespaces_.emplace_back();
  for (auto& [key, value] : all) {
    run_.charge(program_.names.size());
    const auto name = std::find(program_.names.begin(), program_.names.end(), text_argument(run_, "namespace", key));
    // A name that the template does not spell could be asked for by a computed one only.
    if (name == program_.names.end()) run_.fail("a namespace with a computed name is not known");
    space.members.emplace_back(static_cast<int>(name - program_.names.begin()), std::move(value));
  }
  return &space;
}

Value Evaluator::range(const Given& given) {
  if (given.positional.empty() || given.positional.size() > 3 || !given.keywords.empty())
    run_.fail("range takes one to three arguments");
  std::int64_t bounds[3] = {0, 0, 1};
  for (std::size_t i = 0; i < given.positional.size(); ++i)
    bounds[i] = integer_argument(run_, "range", &given.positional[i], 0);
  if (given.positional.size() == 1) std::swap(bounds[0], bounds[1]);
  const auto [start, stop, step] = bounds;
  if (step == 0) run_.fail("the step of a range is zero");
  std::vector<Value> items;
  for (std::int64_t value = start; step > 0 ? value < stop : value > stop;) {
    if (items.size() == kMaxRange) run_.fail(fmt::format("a range of more than {} items", kMaxRange));
    run_.charge(1);
    items.emplace_back(value);
    if (__builtin_add_overflow(value, step, &value)) break;
  }
  return run_.sequence(Flavour::range, std::move(items));
}

std::vector<std::pair<Value, Value>> Evaluator::members(const Given& given) {
  std::vector<std::pair<Value, Value>> all;
  if (given.positional.size() > 1) run_.fail("dict or namespace of several arguments");
  for (const Value& from : given.positional) {
    const Mapping* mapping = as_mapping(from);
    if (mapping == nullptr) run_.fail(fmt::format("dict or namespace of {} is not computed", type_name(from)));
    run_.charge(mapping->members.size());
    all = mapping->members;
  }
  for (const auto& [name, value] : given.keywords) insert(run_, all, run_.text(name_of(name)), value);
  return all;
}

Value Evaluator::method(const Node& node) {
  const Value object = evaluate(child(node, 0));
  const Bound given = bound(node, 1);
  run_.line = node.line;
  need(object);
  return node.method->call(run_, object, given.arguments);
}

Evaluator::Bound Evaluator::bound(const Node& node, int from) {
  Bound result;
  result.held.reserve(kMaxParameters);  // pointers into it stay
  for (int i = from; i < node.count; ++i) {
    if (child(node, i) == kAbsent) continue;
    result.held.push_back(evaluate(child(node, i)));
    result.arguments[static_cast<std::size_t>(i - from)] = &result.held.back();
  }
  return result;
}

Value Evaluator::filter(const Node& node, Value input) {
  const Bound given = bound(node, 1);
  run_.line = node.line;
  return node.filter->apply(run_, input, given.arguments);
}

Value Evaluator::map_attribute(const Node& node) {
  const Value input = evaluate(child(node, 0)), path = evaluate(child(node, 1));
  const Value if_absent = node.count > 2 ? evaluate(child(node, 2)) : None{};
  run_.line = node.line;
  std::vector<Value> items = truth(input) ? iterate(run_, input) : std::vector<Value>();
  for (Value& item : items) {
    item = attribute_path(run_, std::move(item), path);
    if (is_undefined(item) && !is_none(if_absent)) item = if_absent;
  }
  return run_.sequence(Flavour::generator, std::move(items));
}

Value Evaluator::map_filter(const Node& node) {
  const Value input = evaluate(child(node, 0));
  const Bound given = bound(node, 1);
  run_.line = node.line;
  std::vector<Value> items = truth(input) ? iterate(run_, input) : std::vector<Value>();
  for (Value& item : items) item = node.filter->apply(run_, item, given.arguments);
  return run_.sequence(Flavour::generator, std::move(items));
}

Value Evaluator::select(const Node& node) {
  const Value input = evaluate(child(node, 0)), path = evaluate_or(child(node, 1), None{});
  const Bound given = bound(node, 2);
  run_.line = node.line;
  std::vector<Value> kept;
  if (!truth(input)) return run_.sequence(Flavour::generator, {});
  for (Value& item : iterate(run_, input)) {
    const Value looked_at = child(node, 1) == kAbsent ? item : attribute_path(run_, item, path);
    const bool holds = node.test == nullptr ? truth(looked_at) : node.test->holds(run_, looked_at, given.arguments);
    if (holds != node.flag) kept.push_back(std::move(item));
  }
  return run_.sequence(Flavour::generator, std::move(kept));
}

}  // namespace afore::nn::jinja
