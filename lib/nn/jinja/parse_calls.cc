#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "nn/jinja/parser.h"
#include "nn/json.h"

namespace afore::nn::jinja {
namespace {

using Kind = Token::Kind;

}  // namespace

int Parser::postfix(int object) {
  while (true) {
    const int line = token().line;
    if (skip_sign(".")) object = after_dot(object, line);
    else if (skip_sign("[")) object = subscript(object, line);
    else if (is_sign("(")) object = call(object, line);
    else return object;
  }
}

int Parser::filters_and_tests(int object) {
  while (true) {
    if (skip_sign("|")) object = filter(object);
    else if (skip_word("is")) object = test(object);
    else if (is_sign("(")) object = call(object, token().line);
    else return object;
  }
}

int Parser::after_dot(int object, int line) {
  if (token().kind == Kind::integer) return add(Op::item, line, {object, number()});
  const std::string name = expect_name();
  if (is_sign("(")) return method(object, name, line);
  const int result = add(Op::attribute, line, {object});
  node(result).name = name_number(name);
  return result;
}

int Parser::subscript(int object, int line) {
  const int first = is_sign(":") ? kAbsent : expression();
  if (is_sign(":")) return slice(object, first, line);
  Children parts{first};
  bool comma = false;
  while (skip_sign(",")) {
    comma = true;
    if (is_sign("]")) break;
    if (is_sign(":")) fail("a slice within a tuple is not known");
    parts.push_back(expression());
  }
  expect_sign("]");
  return add(Op::item, line, {object, comma ? add(Op::tuple, line, parts) : first});
}

int Parser::slice(int object, int first, int line) {
  int bounds[3] = {first, kAbsent, kAbsent};
  for (int i = 1; i < 3 && skip_sign(":"); ++i)
    if (!is_sign("]") && !is_sign(":")) bounds[i] = expression();
  expect_sign("]");
  return add(Op::slice, line, {object, bounds[0], bounds[1], bounds[2]});
}

Parser::Given Parser::arguments() {
  Given given;
  expect_sign("(");
  while (!is_sign(")")) {
    if (!given.positional.empty() || !given.keywords.empty()) {
      expect_sign(",");
      if (is_sign(")")) break;
    }
    if (is_sign("*") || is_sign("**")) fail("arguments from a list or mapping are not known");
    const int line = token().line;
    const bool keyword =
        token().kind == Kind::name && tokens_[at_ + 1].kind == Kind::sign && tokens_[at_ + 1].text == "=";
    if (!keyword) {
      if (!given.keywords.empty()) fail("a positional argument follows one with a name");
      given.positional.push_back(expression());
      continue;
    }
    const std::string name = token().text;
    at_ += 2;
    for (const Keyword& other : given.keywords)
      if (other.name == name) fail_at(line, fmt::format("the argument {} is given twice", name));
    const int held = add(Op::keyword, line, {expression()});
    node(held).name = name_number(name);
    given.keywords.push_back({name, held});
  }
  expect_sign(")");
  return given;
}

int Parser::call(int callee, int line) {
  const Given given = arguments();
  Children children{callee};
  children.insert(children.end(), given.positional.begin(), given.positional.end());
  for (const Keyword& keyword : given.keywords) children.push_back(keyword.node);
  return add(Op::call, line, children);
}

Parser::Children Parser::bind(const Signature& signature, const Given& given, std::size_t skip, int line,
                              const char* kind) {
  Children bound(kMaxParameters, kAbsent);
  std::size_t place = 0;
  for (std::size_t i = skip; i < given.positional.size(); ++i, ++place) {
    if (place == bound.size() || signature.parameters[place].empty())
      fail_at(line, fmt::format("the {} {} takes fewer arguments", kind, signature.name));
    bound[place] = given.positional[i];
  }
  for (const Keyword& keyword : given.keywords) {
    const auto at = std::find(signature.parameters.begin(), signature.parameters.end(), keyword.name);
    if (at == signature.parameters.end())
      fail_at(line, fmt::format("the {} {} has no argument {} that is known", kind, signature.name, keyword.name));
    int& slot = bound[static_cast<std::size_t>(at - signature.parameters.begin())];
    if (slot != kAbsent) fail_at(line, fmt::format("the argument {} is given twice", keyword.name));
    slot = program_.children_of(node(keyword.node))[0];
  }
  for (int i = 0; i < signature.required; ++i)
    if (bound[static_cast<std::size_t>(i)] == kAbsent)
      fail_at(line, fmt::format("the {} {} takes more arguments", kind, signature.name));
  while (!bound.empty() && bound.back() == kAbsent) bound.pop_back();
  return bound;
}

int Parser::method(int object, const std::string& name, int line) {
  const Method* known = find_method(name);
  if (known == nullptr) fail_at(line, fmt::format("the method {} is not known", name));
  const Given given = arguments();
  Children children = bind(*known, given, 0, line, "method");
  children.insert(children.begin(), object);
  const int result = add(Op::method, line, children);
  node(result).method = known;
  node(result).name = name_number(name);
  return result;
}

int Parser::loop_part(int line) {
  static constexpr std::string_view kParts[] = {"index",  "index0", "revindex", "revindex0", "first",
                                                "last",   "length", "previtem", "nextitem",  "depth",
                                                "depth0", "cycle",  "changed"};
  if (loops_ == 0) fail_at(line, "loop is not known here: its for is outside of this macro or condition");
  if (!skip_sign(".")) fail_at(line, "loop is known only with a part of it, as in loop.index");
  const std::string name = expect_name();
  const auto part = std::find(std::begin(kParts), std::end(kParts), name);
  if (part == std::end(kParts)) fail_at(line, fmt::format("loop.{} is not known", name));
  const auto code = static_cast<LoopPart>(part - std::begin(kParts));
  Children children;
  if (code >= LoopPart::cycle) {
    const Given given = arguments();
    if (!given.keywords.empty()) fail_at(line, fmt::format("loop.{} with arguments by name is not known", name));
    children = given.positional;
    if (code == LoopPart::cycle && children.empty()) fail_at(line, "loop.cycle needs an argument");
  }
  const int result = add(Op::loop, line, children);
  node(result).code = static_cast<std::uint8_t>(code);
  return result;
}

const std::string* Parser::constant_text(int i) const {
  const Node& held = program_.nodes[static_cast<std::size_t>(i)];
  return held.op == Op::constant ? as_text(program_.constants[static_cast<std::size_t>(held.value)]) : nullptr;
}

int Parser::filter(int input) {
  const int line = token().line;
  const std::string name = expect_name();
  const Given given = is_sign("(") ? arguments() : Given{};
  for (const char* higher : {"map", "select", "reject", "selectattr", "rejectattr"})
    if (name == higher) return higher_filter(name, input, given, line);
  const Filter* known = find_filter(name);
  if (known == nullptr) fail_at(line, fmt::format("the filter {} is not known", name));
  if (name == "safe") ++safes_, safe_line_ = line;
  Children children = bind(*known, given, 0, line, "filter");
  children.insert(children.begin(), input);
  const int result = add(Op::filter, line, children);
  node(result).filter = known;
  return result;
}

int Parser::higher_filter(const std::string& name, int input, const Given& given, int line) {
  if (input == kAbsent) fail_at(line, fmt::format("the filter {} of a block is not known", name));
  if (name == "map") return map_filter(input, given, line);
  return select_filter(input, given, name.ends_with("attr"), name.starts_with("reject"), line);
}

int Parser::map_filter(int input, const Given& given, int line) {
  static constexpr Signature kAttribute{"map", 1, {"attribute", "default"}};
  if (given.positional.empty()) {
    Children children = bind(kAttribute, given, 0, line, "filter");
    children.insert(children.begin(), input);
    return add(Op::map_attribute, line, children);
  }
  const std::string* name = constant_text(given.positional[0]);
  const Filter* known = name == nullptr ? nullptr : find_filter(*name);
  if (known == nullptr)
    fail_at(line, name == nullptr ? "map with a computed filter is not known"
                                  : fmt::format("the filter {} is not known", quote(*name)));
  Children children = bind(*known, given, 1, line, "filter");
  children.insert(children.begin(), input);
  const int result = add(Op::map_filter, line, children);
  node(result).filter = known;
  return result;
}

int Parser::select_filter(int input, const Given& given, bool attribute, bool rejects, int line) {
  const std::size_t at = attribute ? 1 : 0;
  if (given.positional.size() < at) fail_at(line, "the name of an attribute is missing");
  Children children{input, attribute ? given.positional[0] : kAbsent};
  const Test* known = nullptr;
  if (given.positional.size() > at) {
    const std::string* name = constant_text(given.positional[at]);
    known = name == nullptr ? nullptr : find_test(*name);
    if (known == nullptr)
      fail_at(line,
              name == nullptr ? "a computed test is not known" : fmt::format("the test {} is not known", quote(*name)));
    const Children bound = bind(*known, given, at + 1, line, "test");
    children.insert(children.end(), bound.begin(), bound.end());
  } else if (!given.keywords.empty()) {
    fail_at(line, "an argument with a name is not known here");
  }
  const int result = add(Op::select, line, children);
  node(result).test = known;
  node(result).flag = rejects;
  return result;
}

int Parser::test(int object) {
  const int line = token().line;
  const bool negated = skip_word("not");
  const std::string name = expect_name();
  const Test* known = find_test(name);
  if (known == nullptr) fail_at(line, fmt::format("the test {} is not known", name));
  Given given;
  const bool begins = token().kind == Kind::name || token().kind == Kind::string || token().kind == Kind::integer ||
                      token().kind == Kind::number || is_sign("[") || is_sign("{");
  if (is_sign("(")) given = arguments();
  else if (begins && !is_word("else") && !is_word("or") && !is_word("and")) {
    if (is_word("is")) fail("tests cannot be chained with is");
    given.positional.push_back(postfix(primary()));
  }
  Children children = bind(*known, given, 0, line, "test");
  children.insert(children.begin(), object);
  const int result = add(Op::test, line, children);
  node(result).test = known;
  return negated ? add(Op::logical_not, line, {result}) : result;
}

}  // namespace afore::nn::jinja
