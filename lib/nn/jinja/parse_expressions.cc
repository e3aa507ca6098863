#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "nn/jinja/operators.h"
#include "nn/jinja/parser.h"
#include "nn/json.h"

namespace afore::nn::jinja {
namespace {

using Kind = Token::Kind;

constexpr int kMaxNesting = 200;

class Nested {
 public:
  explicit Nested(int& depth) : depth_(depth) { ++depth_; }
  ~Nested() { --depth_; }
  Nested(const Nested&) = delete;
  Nested& operator=(const Nested&) = delete;

 private:
  int& depth_;
};

}  // namespace

int Parser::conditional() {
  const Nested nested(nesting_);
  if (nesting_ > kMaxNesting) fail(fmt::format("the template nests deeper than {} levels", kMaxNesting));
  const int line = token().line;
  int result = logical_or();
  while (skip_word("if")) {
    const int condition = logical_or();
    const int other = skip_word("else") ? conditional() : kAbsent;
    result = add(Op::conditional, line, {condition, result, other});
  }
  return result;
}

int Parser::logical_or() {
  const int line = token().line;
  int result = logical_and();
  while (skip_word("or")) result = add(Op::logical_or, line, {result, logical_and()});
  return result;
}

int Parser::logical_and() {
  const int line = token().line;
  int result = logical_not();
  while (skip_word("and")) result = add(Op::logical_and, line, {result, logical_not()});
  return result;
}

int Parser::logical_not() {
  const Nested nested(nesting_);
  if (nesting_ > kMaxNesting) fail(fmt::format("the template nests deeper than {} levels", kMaxNesting));
  const int line = token().line;
  if (skip_word("not")) return add(Op::logical_not, line, {logical_not()});
  return comparison();
}

int Parser::comparison() {
  static constexpr std::string_view kSigns[] = {"==", "!=", "<", "<=", ">", ">="};
  const int line = token().line;
  Children operands{sum()};
  std::vector<std::uint8_t> signs;
  while (true) {
    const auto sign = std::find_if(std::begin(kSigns), std::end(kSigns), [this](auto s) { return is_sign(s); });
    auto found = static_cast<Comparison>(sign - std::begin(kSigns));
    if (sign != std::end(kSigns)) ++at_;
    else if (skip_word("in")) found = Comparison::in;
    else if (is_word("not") && tokens_[at_ + 1].kind == Kind::name && tokens_[at_ + 1].text == "in")
      at_ += 2, found = Comparison::not_in;
    else break;
    signs.push_back(static_cast<std::uint8_t>(found));
    operands.push_back(sum());
  }
  if (signs.empty()) return operands[0];
  const int result = add(signs.size() == 1 ? Op::compare : Op::chain, line, operands);
  node(result).code = signs[0];
  node(result).value = static_cast<int>(program_.comparisons.size());
  if (signs.size() > 1) program_.comparisons.insert(program_.comparisons.end(), signs.begin(), signs.end());
  return result;
}

int Parser::sum() {
  const int line = token().line;
  int result = concat();
  while (is_sign("+") || is_sign("-")) {
    const Operator op = is_sign("+") ? Operator::add : Operator::subtract;
    ++at_;
    result = add(Op::binary, line, {result, concat()});
    node(result).code = static_cast<std::uint8_t>(op);
  }
  return result;
}

int Parser::concat() {
  const int line = token().line;
  Children parts{product()};
  while (skip_sign("~")) parts.push_back(product());
  return parts.size() == 1 ? parts[0] : add(Op::concat, line, parts);
}

int Parser::product() {
  const int line = token().line;
  int result = power();
  while (is_sign("*") || is_sign("/") || is_sign("//") || is_sign("%")) {
    const Operator op = is_sign("*")    ? Operator::multiply
                        : is_sign("/")  ? Operator::divide
                        : is_sign("//") ? Operator::floor_divide
                                        : Operator::modulo;
    ++at_;
    result = add(Op::binary, line, {result, power()});
    node(result).code = static_cast<std::uint8_t>(op);
  }
  return result;
}

int Parser::power() {
  const int line = token().line;
  int result = unary(true);
  while (skip_sign("**")) {
    result = add(Op::binary, line, {result, unary(true)});
    node(result).code = static_cast<std::uint8_t>(Operator::power);
  }
  return result;
}

int Parser::unary(bool with_filter) {
  const Nested nested(nesting_);
  if (nesting_ > kMaxNesting) fail(fmt::format("the template nests deeper than {} levels", kMaxNesting));
  const int line = token().line;
  int result = kAbsent;
  if (skip_sign("-")) result = add(Op::negative, line, {unary(false)});
  else if (skip_sign("+")) result = add(Op::positive, line, {unary(false)});
  else result = primary();
  result = postfix(result);
  return with_filter ? filters_and_tests(result) : result;
}

int Parser::primary() {
  switch (token().kind) {
    case Kind::name: return word();
    case Kind::string: return string();
    case Kind::integer:
    case Kind::number: return number();
    default: break;
  }
  if (is_sign("(")) return in_parentheses();
  if (is_sign("[")) return list();
  if (is_sign("{")) return dict();
  fail("an expression is missing");
}

int Parser::string() {
  const int line = token().line;
  std::string value;
  for (; token().kind == Kind::string; ++at_) value += token().text;
  return constant(line, std::make_shared<const std::string>(std::move(value)));
}

int Parser::number() {
  const Token& read = token();
  ++at_;
  const char *begin = read.text.data(), *end = begin + read.text.size();
  if (read.kind == Kind::integer) {
    std::int64_t integer = 0;
    if (std::from_chars(begin, end, integer).ec != std::errc()) fail_at(read.line, "an integer beyond 64 bits");
    return constant(read.line, integer);
  }
  double value = 0;
  if (std::from_chars(begin, end, value).ec != std::errc() || !std::isfinite(value))
    fail_at(read.line, "a number out of a float's range");
  return constant(read.line, value);
}

int Parser::name_number(const std::string& name) {
  const auto [at, fresh] = names_.emplace(name, static_cast<int>(program_.names.size()));
  if (fresh) program_.names.push_back(name);
  return at->second;
}

int Parser::word() {
  const int line = token().line;
  const std::string name = expect_name();
  if (name == "true" || name == "True") return constant(line, true);
  if (name == "false" || name == "False") return constant(line, false);
  if (name == "none" || name == "None") return constant(line, None{});
  if (name == "loop" && (loops_ > 0 || outer_loops_ > 0)) return loop_part(line);
  for (const char* unknown : {"lipsum", "cycler", "joiner", "caller", "varargs", "kwargs", "self", "super"})
    if (name == unknown) fail_at(line, name + " is not known");
  const int result = add(Op::name, line, {});
  node(result).name = name_number(name);
  return result;
}

int Parser::in_parentheses() {
  const int line = token().line;
  expect_sign("(");
  if (skip_sign(")")) return add(Op::tuple, line, {});
  const int result = tuple(true);
  expect_sign(")");
  return result;
}

bool Parser::ends_tuple(std::string_view end_word) const {
  return token().kind == Kind::print_end || token().kind == Kind::block_end || is_sign(")") ||
         (!end_word.empty() && is_word(end_word));
}

int Parser::tuple(bool with_condition, std::string_view end_word) {
  const int line = token().line;
  Children items;
  bool comma = false;
  while (!ends_tuple(end_word)) {
    items.push_back(with_condition ? expression() : logical_or());
    if (!skip_sign(",")) break;
    comma = true;
  }
  if (items.empty()) fail("an expression is missing");
  return comma ? add(Op::tuple, line, items) : items[0];
}

int Parser::list() {
  const int line = token().line;
  expect_sign("[");
  Children items;
  while (!is_sign("]")) {
    if (!items.empty()) expect_sign(",");
    if (is_sign("]")) break;
    items.push_back(expression());
  }
  expect_sign("]");
  return add(Op::list, line, items);
}

int Parser::dict() {
  const int line = token().line;
  expect_sign("{");
  Children members;
  while (!is_sign("}")) {
    if (!members.empty()) expect_sign(",");
    if (is_sign("}")) break;
    members.push_back(expression());
    expect_sign(":");
    members.push_back(expression());
  }
  expect_sign("}");
  return add(Op::dict, line, members);
}

}  // namespace afore::nn::jinja
