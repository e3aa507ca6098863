#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "nn/jinja/parser.h"
#include "nn/json.h"
#include "util/error.h"

namespace afore::nn::jinja {
namespace {

using Kind = Token::Kind;

constexpr int kMaxTreeDepth = 150;
constexpr int kMaxBlocks = 40;  // in one another

const char* described(const Token& token) {
  switch (token.kind) {
    case Kind::text: return "text";
    case Kind::print_begin: return "'{{'";
    case Kind::print_end: return "'}}'";
    case Kind::block_begin: return "'{%'";
    case Kind::block_end: return "'%}'";
    case Kind::string: return "a string";
    case Kind::integer:
    case Kind::number: return "a number";
    case Kind::end: return "the end of the template";
    case Kind::name:
    case Kind::sign: break;
  }
  return nullptr;
}

std::string shown(const Token& token) {
  const char* text = described(token);
  return text != nullptr ? text : quote(token.text);
}

}  // namespace

void Parser::fail_at(int line, const std::string& fact) const {
  throw Error(ErrorKind::data, fmt::format("{}:{}: {}", source_, line, fact));
}

bool Parser::skip_sign(std::string_view text) {
  const bool there = is_sign(text);
  at_ += there ? 1 : 0;
  return there;
}

bool Parser::skip_word(std::string_view text) {
  const bool there = is_word(text);
  at_ += there ? 1 : 0;
  return there;
}

void Parser::expect_sign(std::string_view text) {
  if (!skip_sign(text)) fail(fmt::format("expected '{}', found {}", text, shown(token())));
}

void Parser::expect(Token::Kind kind) {
  if (token().kind != kind) fail(fmt::format("expected {}, found {}", shown({kind, "", 0}), shown(token())));
  ++at_;
}

std::string Parser::expect_name() {
  if (token().kind != Kind::name) fail(fmt::format("expected a name, found {}", shown(token())));
  return tokens_[at_++].text;
}

int Parser::add(Op op, int line, const Children& children) {
  Node added;
  added.op = op;
  added.line = line;
  added.first = static_cast<int>(program_.children.size());
  added.count = static_cast<int>(children.size());
  for (const int child : children)
    if (child != kAbsent) added.depth = std::max(added.depth, node(child).depth + 1);
  if (added.depth > kMaxTreeDepth)
    fail_at(line, fmt::format("the template nests deeper than {} levels", kMaxTreeDepth));
  program_.children.insert(program_.children.end(), children.begin(), children.end());
  program_.nodes.push_back(added);
  return static_cast<int>(program_.nodes.size()) - 1;
}

int Parser::constant(int line, Value value) {
  const int result = add(Op::constant, line, {});
  node(result).value = static_cast<int>(program_.constants.size());
  program_.constants.push_back(std::move(value));
  return result;
}

Program Parser::parse() {
  program_.root = statements({});
  // In Python it makes what is joined to its result escape <, > and &.
  if (safes_ > 0) fail_at(safe_line_, "the filter safe is known only as the last of what is printed");
  return std::move(program_);
}

// Up to a block whose word is one of `ends`, at which it stops, or without any to the end of the template.
int Parser::statements(std::initializer_list<std::string_view> ends) {
  if (++nesting_ > kMaxBlocks) fail(fmt::format("blocks nest deeper than {} levels", kMaxBlocks));
  const int line = token().line;
  Children parts;
  while (true) {
    if (token().kind == Kind::end) {
      if (ends.size() != 0)
        fail(fmt::format("the block of line {} does not end: {} is missing", line, *(ends.end() - 1)));
      break;
    }
    if (token().kind == Kind::text) {
      const int text = constant(token().line, std::make_shared<const std::string>(token().text));
      node(text).op = Op::text;
      parts.push_back(text);
      ++at_;
    } else if (token().kind == Kind::print_begin) {
      parts.push_back(print());
    } else {
      expect(Kind::block_begin);
      if (std::any_of(ends.begin(), ends.end(), [this](std::string_view end) { return is_word(end); })) break;
      parts.push_back(statement());
    }
  }
  --nesting_;
  return add(Op::block, line, parts);
}

int Parser::print() {
  const int line = token().line;
  expect(Kind::print_begin);
  const int expression = tuple(true);
  if (node(expression).op == Op::filter && node(expression).filter->name == "safe") --safes_;
  expect(Kind::print_end);
  return add(Op::print, line, {expression});
}

int Parser::statement() {
  const int line = token().line;
  const std::string word = expect_name();
  if (word == "if") return branch();
  if (word == "for") return loop_over();
  if (word == "set") return set();
  if (word == "macro") return macro();
  if (word == "break") return loop_control(Op::loop_break);
  if (word == "continue") return loop_control(Op::loop_continue);
  if (word == "generation") return generation();
  fail_at(line, fmt::format("the block {} is not known here", quote(word)));
}

int Parser::branch() {
  const int line = token().line;
  Children parts;
  do {
    parts.push_back(tuple(false));
    end_block();
    parts.push_back(statements({"elif", "else", "endif"}));
  } while (skip_word("elif"));
  if (skip_word("else")) {
    end_block();
    parts.push_back(statements({"endif"}));
  }
  ++at_;  // endif
  end_block();
  return add(Op::branch, line, parts);
}

int Parser::loop_over() {
  const int line = token().line;
  const int to = target(false, "in");
  if (!skip_word("in")) fail("expected in");
  const int iterated = tuple(false, "recursive");
  if (is_word("recursive")) fail("for with recursive is not known");
  const int loops = std::exchange(loops_, 0);  // the condition may not use loop
  ++outer_loops_;
  const int condition = skip_word("if") ? expression() : kAbsent;
  --outer_loops_;
  end_block();
  loops_ = loops + 1;
  ++breakable_;
  const int body = statements({"else", "endfor"});
  --breakable_;
  loops_ = loops;
  int other = kAbsent;
  if (skip_word("else")) {
    end_block();
    other = statements({"endfor"});
  }
  ++at_;  // endfor
  end_block();
  return add(Op::loop_over, line, {to, iterated, condition, body, other});
}

int Parser::single_target(bool with_attribute) {
  const int line = token().line;
  const std::string name = expect_name();
  for (const char* taken : {"true", "True", "false", "False", "none", "None", "loop"})
    if (name == taken) fail_at(line, fmt::format("{} cannot be assigned to", name));
  if (with_attribute && skip_sign(".")) {
    const int object = add(Op::name, line, {});
    node(object).name = name_number(name);
    const int result = add(Op::target_attribute, line, {object});
    node(result).name = name_number(expect_name());
    return result;
  }
  const int result = add(Op::target, line, {});
  node(result).name = name_number(name);
  return result;
}

int Parser::target(bool with_attribute, std::string_view end_word) {
  const int line = token().line;
  Children parts;
  bool comma = false;
  const bool parentheses = skip_sign("(");
  do {
    comma = !parts.empty();
    if (comma && (is_sign(")") || is_sign("=") || is_word(end_word))) break;
    parts.push_back(single_target(with_attribute));
  } while (skip_sign(","));
  if (parentheses) expect_sign(")");
  return comma ? add(Op::target_tuple, line, parts) : parts[0];
}

int Parser::set() {
  const int line = token().line;
  const int to = target(true, "");
  if (skip_sign("=")) {
    const int value = tuple(true);
    end_block();
    return add(Op::assign, line, {to, value});
  }
  int filtered = kAbsent;
  while (skip_sign("|")) filtered = filter(filtered);
  end_block();
  const int body = statements({"endset"});
  ++at_;
  end_block();
  return add(Op::assign_block, line, {to, filtered, body});
}

int Parser::macro() {
  const int line = token().line;
  const std::string name = expect_name();
  Children parts{kAbsent};
  std::vector<int> parameters;
  bool defaults = false;
  expect_sign("(");
  while (!is_sign(")")) {
    if (!parameters.empty()) expect_sign(",");
    parameters.push_back(name_number(expect_name()));
    if (std::count(parameters.begin(), parameters.end(), parameters.back()) > 1) fail("a parameter stands twice");
    if (skip_sign("=")) defaults = true, parts.push_back(expression());
    else if (defaults) fail("a parameter without a default follows one with it");
    else parts.push_back(kAbsent);
  }
  expect_sign(")");
  end_block();
  const int loops = std::exchange(loops_, 0), breakable = std::exchange(breakable_, 0);
  outer_loops_ += loops;
  parts[0] = statements({"endmacro"});
  outer_loops_ -= loops;
  loops_ = loops;
  breakable_ = breakable;
  ++at_;
  end_block();
  const int result = add(Op::macro, line, parts);
  node(result).name = name_number(name);
  node(result).value = static_cast<int>(program_.parameters.size());
  program_.parameters.insert(program_.parameters.end(), parameters.begin(), parameters.end());
  return result;
}

int Parser::loop_control(Op op) {
  const int line = token().line;
  if (breakable_ == 0) fail_at(line, "break and continue stand within for");
  end_block();
  return add(op, line, {});
}

// {% generation %}: transformers marks what the assistant said with it; the text is that of its body.
int Parser::generation() {
  const int line = token().line;
  end_block();
  const int breakable = std::exchange(breakable_, 0);  // its body is a function of its own
  const int body = statements({"endgeneration"});
  breakable_ = breakable;
  ++at_;
  end_block();
  return add(Op::scope, line, {body});
}

Program parse(std::string_view text, const std::string& source) {
  return Parser(tokenize(text, source), source).parse();
}

}  // namespace afore::nn::jinja
