// The table of json_cases.txt through our reader, each of its two layers by itself.
#include "json_cases.h"

#include <map>
#include <set>

#include "wire/json_tree.h"
#include "wire_test_util.h"

namespace afore::wire {
namespace {

const std::vector<JsonCase>& cases() {
  static const std::vector<JsonCase> all = read_json_cases(AFORE_SOURCE_DIR "/tests/wire/json_cases.txt");
  return all;
}

std::string shown(const JsonCase& c) { return c.verdict + " " + c.name; }

std::string syntax_error(const std::string& text) {
  JsonTree tree;
  return error_of([&] { tree.parse_syntax(text, "stdin", 7); });
}

std::string error_of_both(const std::string& text) {
  JsonTree tree;
  return error_of([&] { tree.parse(text, "stdin", 7); });
}

TEST(JsonCases, TheTableIsWhole) {
  std::map<std::string, int> count;
  std::set<std::string> names, texts;
  for (const JsonCase& c : cases()) {
    ++count[c.verdict];
    EXPECT_TRUE(names.insert(c.name).second) << c.name << " stands twice";
    EXPECT_TRUE(texts.insert(c.text).second) << c.name << " is another case's text";
    EXPECT_EQ(c.why.empty(), c.verdict.find("either") == std::string::npos) << shown(c);
  }
  EXPECT_GE(count["accept"] + count["accept/schema"], 95);
  EXPECT_EQ(count["accept/schema"], 2);
  EXPECT_GE(count["reject"], 188);
  EXPECT_GE(count["either+"] + count["either-"], 35);
  EXPECT_EQ(count.size(), 5u);
}

TEST(JsonCases, TheSyntaxLayer) {
  for (const JsonCase& c : cases()) {
    const std::string error = syntax_error(c.text);
    if (c.is_json()) EXPECT_EQ(error, "no error") << shown(c);
    else EXPECT_EQ(error.substr(0, 9), "stdin:7: ") << shown(c);
  }
}

// Nothing else is refused above the syntax than the two texts with a key twice, and those with their path.
TEST(JsonCases, TheSchemaLayer) {
  for (const JsonCase& c : cases()) {
    const std::string error = error_of_both(c.text);
    if (c.verdict == "accept/schema") EXPECT_EQ(error, "stdin:7: /a: the key stands twice") << shown(c);
    else EXPECT_EQ(error, syntax_error(c.text)) << shown(c);
  }
}

// A text that is not JSON is called that, also where a key in it stands twice.
TEST(JsonCases, SyntaxComesFirst) {
  EXPECT_EQ(error_of_both(R"({"a":1,"a":1})"), "stdin:7: /a: the key stands twice");
  EXPECT_EQ(error_of_both(R"({"a":1,"a":1)"), "stdin:7: the JSON text ends too early | was it cut off?");
  EXPECT_EQ(error_of_both(R"([{"a":1,"a":1},1e400])"), "stdin:7: /1: the number is too large");
}

// Messages are one line and short, whatever was in the text.
TEST(JsonCases, MessagesAreOneLine) {
  for (const JsonCase& c : cases()) {
    const std::string error = error_of_both(c.text);
    EXPECT_LT(error.size(), 400u) << shown(c);
    EXPECT_EQ(error.find_first_of(std::string_view("\n\r\t\0\x1B", 5)), std::string::npos) << shown(c);
  }
}

// A tree that refused a text reads the next one as if nothing had been.
TEST(JsonCases, ARefusalLeavesNothingBehind) {
  JsonTree tree;
  for (const JsonCase& c : cases()) {
    error_of([&] { tree.parse(c.text, "stdin", 7); });
    const JsonValue root = tree.parse(R"({"a":[1,{"b":"c"}]})", "stdin", 8);
    EXPECT_EQ(root.size(), 1u);
    EXPECT_EQ(ObjectReader(root).required("a").size(), 2u) << shown(c);
  }
}

}  // namespace
}  // namespace afore::wire
