#pragma once
// Recursive descent over a template's tokens, by Jinja's grammar. parse_expressions.cc has expressions, parse_calls.cc
// what is called and filtered, parse_statements.cc the rest.
#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "nn/jinja/builtins.h"
#include "nn/jinja/lexer.h"
#include "nn/jinja/syntax.h"

namespace afore::nn::jinja {

class Parser {
 public:
  Parser(std::vector<Token> tokens, const std::string& source) : tokens_(std::move(tokens)), source_(source) {}
  Program parse();

 private:
  using Children = std::vector<int>;
  struct Keyword {
    std::string name;
    int node;  // of Op::keyword
  };
  struct Given {  // between the parentheses of a call
    Children positional;
    std::vector<Keyword> keywords;
  };

  // Tokens.
  const Token& token() const { return tokens_[at_]; }
  bool is_sign(std::string_view text) const { return token().kind == Token::Kind::sign && token().text == text; }
  bool is_word(std::string_view text) const { return token().kind == Token::Kind::name && token().text == text; }
  bool skip_sign(std::string_view text);
  bool skip_word(std::string_view text);
  void expect_sign(std::string_view text);
  void expect(Token::Kind kind);
  std::string expect_name();
  [[noreturn]] void fail(const std::string& fact) const { fail_at(token().line, fact); }
  [[noreturn]] void fail_at(int line, const std::string& fact) const;

  // The tree.
  Node& node(int i) { return program_.nodes[static_cast<std::size_t>(i)]; }
  int add(Op op, int line, const Children& children);
  int constant(int line, Value value);
  int name_number(const std::string& name);

  // Expressions.
  int expression() { return conditional(); }
  int conditional();
  int logical_or();
  int logical_and();
  int logical_not();
  int comparison();
  int sum();
  int concat();
  int product();
  int power();
  int unary(bool with_filter);
  int primary();
  int string();
  int number();
  int word();
  int in_parentheses();
  int list();
  int dict();
  int tuple(bool with_condition, std::string_view end_word = "");
  bool ends_tuple(std::string_view end_word) const;

  // What follows an expression.
  int postfix(int object);
  int filters_and_tests(int object);
  int after_dot(int object, int line);
  int subscript(int object, int line);
  int slice(int object, int first, int line);
  int call(int callee, int line);
  int method(int object, const std::string& name, int line);
  int loop_part(int line);
  int filter(int input);
  int higher_filter(const std::string& name, int input, const Given& given, int line);
  int map_filter(int input, const Given& given, int line);
  int select_filter(int input, const Given& given, bool attribute, bool rejects, int line);
  int test(int object);
  Given arguments();
  // Children for the parameters of `signature`, from the positional argument number `skip` on.
  Children bind(const Signature& signature, const Given& given, std::size_t skip, int line, const char* kind);
  const std::string* constant_text(int node) const;

  // Statements.
  int statements(std::initializer_list<std::string_view> ends);
  int statement();
  int print();
  int branch();
  int loop_over();
  int set();
  int macro();
  int loop_control(Op op);
  int generation();
  void end_block() { expect(Token::Kind::block_end); }
  int target(bool with_attribute, std::string_view end_word);
  int single_target(bool with_attribute);

  std::vector<Token> tokens_;
  const std::string& source_;
  std::size_t at_ = 0;
  Program program_;
  std::unordered_map<std::string, int> names_;
  int nesting_ = 0;      // of expressions and statements
  int loops_ = 0;        // around this place, within its macro
  int outer_loops_ = 0;  // around the macro
  int breakable_ = 0;    // loops that break would end
  int safes_ = 0;        // filters safe that are not the last of what is printed
  int safe_line_ = 0;
};

}  // namespace afore::nn::jinja
