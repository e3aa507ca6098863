// Chat templates against what jinja2 renders (data/chat_templates/golden.json), refusals by name and line, bounds.
#include "nn/chat_template.h"

#include <nlohmann/json.hpp>

#include "nn_test_util.h"

namespace afore::nn {
namespace {

using nlohmann::json;
using Messages = std::vector<ChatMessage>;

std::string render(const std::string& text, const Messages& messages = {}, bool prompt = false) {
  return ChatTemplate(text, "<s>", "</s>", "t").render(messages, prompt);
}

std::string render_error(const std::string& text, const Messages& messages = {}) {
  return error_of([&] { render(text, messages); });
}

// Without "t:1: ".
std::string load_error(const std::string& text) {
  const std::string error = error_of([&] { ChatTemplate(text, "", "", "t"); });
  return error.rfind("t:1: ", 0) == 0 ? error.substr(5) : error;
}

TEST(ChatTemplateGolden, AsJinja2Renders) {
  const std::filesystem::path folder = AFORE_SOURCE_DIR "/tests/nn/data/chat_templates";
  const json golden = json_of(folder / "golden.json");
  ASSERT_EQ(golden["templates"].size(), 8u);
  for (const auto& [name, results] : golden["templates"].items()) {
    const json tiny = json_of(AFORE_SOURCE_DIR "/models/tiny/tokenizer_config.json");
    const std::string text = name == "models/tiny" ? tiny["chat_template"].get<std::string>() : text_of(folder / name);
    ASSERT_EQ(results.size(), 2 * golden["conversations"].size());
    for (std::size_t i = 0; i < results.size(); ++i) {
      SCOPED_TRACE(name + " " + std::to_string(i));
      Messages messages;
      for (const json& turn : golden["conversations"][i / 2]) messages.push_back({turn[0], turn[1]});
      if (results[i].contains("text")) {
        EXPECT_EQ(render(text, messages, i % 2 == 1), results[i]["text"].get<std::string>());
      } else {
        const std::string error = error_of([&] { render(text, messages, i % 2 == 1); });
        EXPECT_EQ(error.substr(error.find(": ") + 2), results[i]["error"].get<std::string>());
      }
    }
  }
}

TEST(ChatTemplate, WhiteSpaceOfBlocks) {
  EXPECT_EQ(render("a\n  {% if true %}\nb\n  {% endif %}\nc\n"), "a\nb\nc");
  EXPECT_EQ(render("a\n  {%+ if true +%}\nb{% endif %}"), "a\n  \nb");
  EXPECT_EQ(render("a \n {%- if true -%} \n b {{- 'c' -}} \n d{% endif %}"), "abcd");
  EXPECT_EQ(render("a {# b #}\n  {#- c -#}\n d"), "a d");
  EXPECT_EQ(render("a\r\nb\rc\n\n"), "a\nb\nc\n");
  EXPECT_EQ(render("{% raw %}{{ a }}{% if %}{% endraw %}\nb"), "{{ a }}{% if %}b");
  EXPECT_EQ(render("{{ '}}' }}{{ {'a': {'b': '%}'}} }}"), "}}{'a': {'b': '%}'}}");
}

TEST(ChatTemplate, WhatAConversationHas) {
  EXPECT_EQ(render("{{ tools }}{{ documents is none }}{{ bos_token }}{{ eos_token }}{{ add_generation_prompt }}"),
            "NoneTrue<s></s>False");
  EXPECT_EQ(ChatTemplate("{{ bos_token is defined }}{{ eos_token }}", "", "", "t").render({}, false), "False");
  EXPECT_EQ(render("{{ messages }}", {{"user", "it's"}}), "[{'role': 'user', 'content': \"it's\"}]");
  EXPECT_EQ(render("{{ enable_thinking is defined }}[{{ enable_thinking }}]{{ strftime_now is defined }}"),
            "False[]False");
  EXPECT_EQ(render("{{ messages[0].content|length }}{{ messages[0].content }}", {{"user",
                                                                                  "\xFF"
                                                                                  "a\xC3"}}),
            "3\xEF\xBF\xBD"
            "a\xEF\xBF\xBD");
}

TEST(ChatTemplate, ScopesAsJinjas) {
  EXPECT_EQ(render("{% set x = 1 %}{% for i in [1, 2] %}{{ x }}{% set x = 5 %}{{ x }}{% endfor %}{{ x }}"), "15151");
  EXPECT_EQ(render("{% set n = namespace(x=1) %}{% for i in [1, 2] %}{% set n.x = n.x + i %}{% endfor %}{{ n.x }}"),
            "4");
  EXPECT_EQ(render("{% macro m() %}{{ x }}{% endmacro %}{% set x = 2 %}{{ m() }}{% set x = 3 %}{{ m() }}"), "23");
  EXPECT_EQ(render("{% for i in [1, 2] %}{% macro m() %}{{ i }}{% endmacro %}{{ m() }}{% endfor %}"), "12");
  EXPECT_EQ(render("{% macro m(a, b=a) %}{{ a }}{{ b }}{% endmacro %}{{ m(1) }}{{ m(1, b=2) }}{{ m() }}"), "1112");
  EXPECT_EQ(
      render(
          "{% set n = namespace(go=true) %}{% for i in range(5) if n.go %}{{ i }}{% set n.go = i < 1 %}{% endfor %}"),
      "01");
}

TEST(ChatTemplate, LoopsThatAreLeft) {
  EXPECT_EQ(render("{% for i in [1, 2] %}{% if i == 1 %}{% continue %}{% endif %}{{ i }}{% else %}none{% endfor %}"),
            "2");
  EXPECT_EQ(render("{% for i in [1, 2] %}{% break %}{% else %}none{% endfor %}"), "none");  // as Jinja has it
  EXPECT_EQ(render("{% for i in [1, 2] %}a{% set x %}b{% continue %}{% endset %}c{% endfor %}"), "aa");
}

TEST(ChatTemplate, TheTemplatesOwnWords) {
  EXPECT_EQ(render_error("\n{{ raise_exception('no ' ~ messages[0].role) }}", {{"tool", ""}}), "t:2: no tool");
  EXPECT_EQ(render_error("{{ raise_exception('a\\nb\\tc') }}"), "t:1: a b c");
  EXPECT_EQ(render_error("{{ raise_exception('ä' * 400) }}").size(), 5u + 500 + 3);
}

TEST(ChatTemplate, RefusedWhenRendered) {
  EXPECT_EQ(render_error("{{ a.b }}"), "t:1: 'a' is undefined");
  EXPECT_EQ(render_error("{{ 'a' + missing }}"), "t:1: 'missing' is undefined");
  EXPECT_EQ(render_error("{{ messages[0].nothing.more }}", {{"user", ""}}), "t:1: 'nothing' is undefined");
  EXPECT_EQ(render_error("{{ 'a' + 1 }}"), "t:1: a string + an integer");
  EXPECT_EQ(render_error("{{ 1 < 'a' }}"), "t:1: an integer and a string have no order");
  EXPECT_EQ(render_error("{{ none() }}"), "t:1: a call of none");
  EXPECT_EQ(render_error("{{ nothing() }}"), "t:1: 'nothing' is undefined");
  EXPECT_EQ(render_error("{{ 1 // 0 }}"), "t:1: a division by zero");
  EXPECT_EQ(render_error("{{ 9223372036854775807 + 1 }}"), "t:1: an integer beyond 64 bits");
  EXPECT_EQ(render_error("{% set messages.x = 1 %}"), "t:1: an attribute of a list cannot be set, only of a namespace");
  EXPECT_EQ(render_error("{{ messages.append(1) }}"), "t:1: a method that would change a list: templates may not");
  EXPECT_EQ(render_error("{{ [1]|map('upper') }}"), "t:1: printing a generator is not computed");
  EXPECT_EQ(render_error("{{ {}.items }}"), "t:1: the method items as a value is not computed");
  EXPECT_EQ(render_error("{% for a, b in [[1]] %}{% endfor %}"), "t:1: 1 values for 2 names");
  EXPECT_EQ(render_error("{{ strftime_now('%Y') }}"),
            "t:1: strftime_now is not computed: the prompt would depend on the day");
}

TEST(ChatTemplate, RefusedWhenLoadedByName) {
  EXPECT_EQ(load_error("{{ a | nope }}"), "the filter nope is not known");
  EXPECT_EQ(error_of([] { ChatTemplate("\n\n{{ a\n| nope }}", "", "", "t"); }), "t:4: the filter nope is not known");
  EXPECT_EQ(load_error("{{ a is nope }}"), "the test nope is not known");
  EXPECT_EQ(load_error("{{ a.nope() }}"), "the method nope is not known");
  EXPECT_EQ(load_error("{{ a | map('nope') }}"), "the filter \"nope\" is not known");
  EXPECT_EQ(load_error("{{ a | selectattr('x', 'nope') }}"), "the test \"nope\" is not known");
  EXPECT_EQ(load_error("{{ a | trim(nope=1) }}"), "the filter trim has no argument nope that is known");
  EXPECT_EQ(load_error("{{ a | upper(1) }}"), "the filter upper takes fewer arguments");
  EXPECT_EQ(load_error("{{ a | replace('a') }}"), "the filter replace takes more arguments");
  EXPECT_EQ(load_error("{% include 'x' %}"), "the block \"include\" is not known here");
  EXPECT_EQ(load_error("{% for a in b recursive %}{% endfor %}"), "for with recursive is not known");
  EXPECT_EQ(load_error("{% for a in b %}{{ loop }}{% endfor %}"),
            "loop is known only with a part of it, as in loop.index");
  EXPECT_EQ(load_error("{% for a in b %}{{ loop.nope }}{% endfor %}"), "loop.nope is not known");
  EXPECT_EQ(load_error("{{ cycler(1) }}"), "cycler is not known");
  EXPECT_EQ(load_error("{{ a(*b) }}"), "arguments from a list or mapping are not known");
  EXPECT_EQ(load_error("{% set x = a | safe %}"), "the filter safe is known only as the last of what is printed");
  EXPECT_EQ(load_error("{{ a | tojson | safe }}"), "no error");
}

TEST(ChatTemplate, NoTemplates) {
  EXPECT_EQ(load_error("{{ a"), "an expression does not end: }} is missing");
  EXPECT_EQ(load_error("{% if a %}"), "the block of line 1 does not end: endif is missing");
  EXPECT_EQ(load_error("{% endif %}"), "the block \"endif\" is not known here");
  EXPECT_EQ(load_error("{{ }}"), "an expression is missing");
  EXPECT_EQ(load_error("{{ (a] }}"), "an unexpected ']'");
  EXPECT_EQ(load_error("{{ a b }}"), "expected '}}', found \"b\"");
  EXPECT_EQ(load_error("{{ 'a }}"), "a string does not end");
  EXPECT_EQ(load_error("{# a"), "a comment does not end");
  EXPECT_EQ(load_error("{% raw %}"), "raw does not end");
  EXPECT_EQ(load_error("{{ a ? b }}"), "\"?\" is not known in an expression");
  EXPECT_EQ(load_error("{{ 99999999999999999999 }}"), "an integer beyond 64 bits");
  EXPECT_EQ(load_error("{% break %}"), "break and continue stand within for");
}

std::string times(const std::string& text, int count) {
  std::string result;
  for (int i = 0; i < count; ++i) result += text;
  return result;
}

TEST(ChatTemplate, Bounds) {
  const std::string steps = "t:1: the chat template does not end within its bound of steps";
  EXPECT_EQ(render_error("{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}"), steps);
  EXPECT_EQ(render_error("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}"),
            "t:1: the chat template's calls nest too deep");
  EXPECT_EQ(
      render_error("{% set n = namespace(x='ab') %}{% for i in range(60) %}{% set n.x = n.x + n.x %}{% endfor %}"),
      "t:1: a text longer than 16 MiB");
  EXPECT_EQ(render_error("{% set x = 'a' * 9000000 %}{{ x }}{{ x }}"), "t:1: the prompt is longer than 16 MiB");
  EXPECT_EQ(render_error("{% set n = namespace(x=[]) %}{% for i in range(99) %}{% set n.x = [n.x] %}{% endfor %}"),
            "t:1: lists and mappings nest deeper than 64 levels");
  EXPECT_EQ(render_error("{{ range(100001) }}"), "t:1: a range of more than 100000 items");
  const std::pair<const char*, const char*> kNested[] = {{"(", ")"},   {"[", "]"},           {"not ", ""}, {"-", ""},
                                                         {"{1:", "}"}, {"1 if 1 else ", ""}, {"a[", "]"},  {"a(", ")"}};
  for (const auto& [open, close] : kNested)
    EXPECT_NE(load_error("{{ " + times(open, 5000) + "1" + times(close, 5000) + " }}").find("nests deeper than"),
              std::string::npos)
        << open;
  EXPECT_NE(load_error("{{ a" + times(" + a", 5000) + " }}").find("nests deeper than"), std::string::npos);
  EXPECT_NE(load_error(times("{% if a %}", 5000)).find("nest deeper than"), std::string::npos);
  EXPECT_EQ(load_error(std::string((1 << 20) + 1, 'a')), "t: a chat template longer than 1024 KiB");
}

// A folder, and what its template renders.
class ChatTemplateFolder : public ::testing::Test {
 protected:
  std::string rendered() const {
    const std::optional<ChatTemplate> chat = ChatTemplate::load(folder_.path());
    return chat ? chat->render({}, true) : "no template";
  }
  void write(const std::string& name, std::string_view text) const { folder_.write(name, text); }
  std::string refusal() const {
    return folder_.clean(error_of([this] { rendered(); }));
  }

 private:
  TempFolder folder_;
};

TEST_F(ChatTemplateFolder, WhereTheTemplateIs) {
  EXPECT_EQ(rendered(), "no template");
  write("tokenizer_config.json", R"({"bos_token": "<s>", "eos_token": null})");
  EXPECT_EQ(rendered(), "no template");
  write("tokenizer_config.json", R"({"bos_token": {"content": "<b>", "lstrip": false}, "eos_token": "<e>",
    "chat_template": [{"name": "tool_use", "template": "no"}, {"name": "default", "template": "{{ bos_token }}{{ eos_token }}"}]})");
  EXPECT_EQ(rendered(), "<b><e>");
  write("chat_template.jinja", "file {{ eos_token }}\n");
  EXPECT_EQ(rendered(), "file <e>");
}

TEST_F(ChatTemplateFolder, WhatIsWrongWithIt) {
  write("tokenizer_config.json", R"({"chat_template": [{"name": "tool_use", "template": "no"}]})");
  EXPECT_EQ(refusal(), "FOLDER/tokenizer_config.json: /chat_template: none of the chat templates is named \"default\"");
  write("tokenizer_config.json", R"({"chat_template": 5})");
  EXPECT_EQ(refusal(), "FOLDER/tokenizer_config.json: /chat_template: expected a string, found 5");
  write("tokenizer_config.json", R"({"bos_token": {}, "chat_template": ""})");
  EXPECT_EQ(refusal(), "FOLDER/tokenizer_config.json: /bos_token/content: the key is missing");
  write("tokenizer_config.json", R"({"chat_template": "\n{% nope %}"})");
  EXPECT_EQ(refusal(), "FOLDER/tokenizer_config.json: chat_template:2: the block \"nope\" is not known here");
  write("tokenizer_config.json", "{");
  EXPECT_EQ(refusal(), "FOLDER/tokenizer_config.json: not valid JSON at byte 2");
}

}  // namespace
}  // namespace afore::nn
