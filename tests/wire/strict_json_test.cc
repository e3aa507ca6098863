// What no record may be, whatever its kind.
#include "wire_test_util.h"

namespace afore::wire {
namespace {

TEST(StrictJson, NotJson) {
  EXPECT_EQ(error_alone(""), "stdin:1: the line is empty");
  EXPECT_EQ(error_alone(" \t\r"), "stdin:1: the line is empty");
  EXPECT_EQ(error_alone("hello"), "stdin:1: not valid JSON at byte 1");
  EXPECT_EQ(error_alone("{\"kind\":\"x\",}"), "stdin:1: not valid JSON at byte 13");
  EXPECT_EQ(error_alone("{\"kind\":\"x\"} {}"), "stdin:1: more text after the JSON value at byte 14");
  EXPECT_EQ(error_alone("{\"kind\":\"x\",\"a\":[1,2"), "stdin:1: /a/2: the JSON text ends too early | was it cut off?");
  EXPECT_EQ(error_alone("{\"kind\":\"x\",\"a\":[1 2]}"), "stdin:1: /a/1: not valid JSON at byte 20");
  EXPECT_EQ(error_alone("{\"kind\":\"x\",\"a\":01}"), "stdin:1: not valid JSON at byte 18");
  EXPECT_EQ(error_alone("{'kind':1}"), "stdin:1: not valid JSON at byte 2");
  EXPECT_EQ(error_alone("{\"kind\":\"x\" /* c */}"), "stdin:1: not valid JSON at byte 13");
}

TEST(StrictJson, Bytes) {
  EXPECT_EQ(error_alone("\xEF\xBB\xBF{}"),
            "stdin:1: a byte order mark stands before the JSON text | save it as UTF-8 without BOM");
  EXPECT_EQ(error_alone(std::string("{}\0{}", 5)), "stdin:1: a NUL byte at byte 3");
  EXPECT_EQ(error_alone("{\"kind\":\"\xC3\x28\"}"), "stdin:1: /kind: invalid UTF-8 at byte 11");
  EXPECT_EQ(error_alone("{\"kind\":\"\xED\xA0\x80\"}"), "stdin:1: /kind: invalid UTF-8 at byte 11");
  EXPECT_EQ(error_alone("{\"kind\":\"\\ud800\"}"), "stdin:1: /kind: a lone surrogate in a \\u escape at byte 16");
  EXPECT_EQ(error_alone("{\"kind\":\"\\udc00\"}"), "stdin:1: /kind: a lone surrogate in a \\u escape at byte 15");
  EXPECT_EQ(error_alone("{\"kind\":\"a\tb\"}"), "stdin:1: /kind: a raw control character in a string at byte 11");
}

TEST(StrictJson, Numbers) {
  auto with = [](const std::string& number) { return error_alone("{\"kind\":\"x\",\"a\":[0," + number + "]}"); };
  EXPECT_EQ(with("NaN"), "stdin:1: /a/1: NaN is not a JSON number");
  EXPECT_EQ(with("Infinity"), "stdin:1: /a/1: Infinity is not a JSON number");
  EXPECT_EQ(with("-Infinity"), "stdin:1: /a/1: -Infinity is not a JSON number");
  EXPECT_EQ(with("1e400"), "stdin:1: /a/1: the number is too large");
  EXPECT_EQ(with("-1e400"), "stdin:1: /a/1: the number is too large");
  EXPECT_EQ(with("9007199254740993"), "stdin:1: /a/1: the integer is beyond 2^53");
  EXPECT_EQ(with("-9007199254740993"), "stdin:1: /a/1: the integer is beyond 2^53");
  EXPECT_EQ(with("18446744073709551616"), "stdin:1: /a/1: the integer is beyond 2^53");
  EXPECT_EQ(with("-9223372036854775809"), "stdin:1: /a/1: the integer is beyond 2^53");
  EXPECT_EQ(with("1" + std::string(400, '0')), "stdin:1: /a/1: the number is too large");
  EXPECT_EQ(with("9007199254740992"), "no error");
  EXPECT_EQ(with("1e-400"), "no error");
}

TEST(StrictJson, NumbersOfIntegerFields) {
  auto with = [](const std::string& number) {
    return error_after_header(replaced(kDemand, "\"step\":17", "\"step\":" + number));
  };
  EXPECT_EQ(with("-0"), "stdin:2: /step: expected an integer, found -0");
  EXPECT_EQ(with("-0.0"), "stdin:2: /step: expected an integer, found -0");
  EXPECT_EQ(with("3.0"), "stdin:2: /step: expected an integer, found 3.0");
  EXPECT_EQ(with("1e3"), "stdin:2: /step: expected an integer, found 1000.0");
  EXPECT_EQ(with("2.5"), "stdin:2: /step: expected an integer, found 2.5");
  EXPECT_EQ(with("-1"), "stdin:2: /step: step is negative");
  EXPECT_EQ(with("\"17\""), "stdin:2: /step: expected an integer, found a string");
  EXPECT_EQ(with("null"), "stdin:2: /step: expected an integer, found null");
  EXPECT_EQ(with("[]"), "stdin:2: /step: expected an integer, found an array");
  EXPECT_EQ(with("true"), "stdin:2: /step: expected an integer, found a boolean");
}

TEST(StrictJson, DuplicateKeys) {
  EXPECT_EQ(error_alone(R"({"kind":"x","a":1,"a":1})"), "stdin:1: /a: the key stands twice");
  EXPECT_EQ(error_alone(R"({"kind":"x","a":[0,{"b":{"c":1,"\u0063":2}}]})"), "stdin:1: /a/1/b/c: the key stands twice");
  EXPECT_EQ(error_alone(R"({"kind":"x","a/b~":{"":1,"":1}})"), "stdin:1: /a~1b~0/: the key stands twice");
  std::string large = R"({"kind":"x")";  // sorted instead of compared pairwise
  for (int i = 0; i < 100; ++i) large += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(error_alone(large + "}"), "no error");
  EXPECT_EQ(error_alone(large + ",\"k7\":0}"), "stdin:1: /k7: the key stands twice");
}

TEST(StrictJson, DuplicateKeysOfAHostileLineAreFoundQuickly) {
  std::string line = R"({"kind":"x")";
  for (int i = 0; i < 500'000; ++i) line += ",\"k" + std::to_string(i) + "\":0";
  EXPECT_EQ(error_alone(line + ",\"k499999\":0}"), "stdin:1: /k499999: the key stands twice");
}

TEST(StrictJson, Depth) {
  auto nested = [](int levels) {  // the record itself is level 1
    return "{\"kind\":\"x\",\"a\":" + std::string(levels - 1, '[') + std::string(levels - 1, ']') + "}";
  };
  EXPECT_EQ(error_alone(nested(64)), "no error");
  std::string path = "/a";
  for (int i = 0; i < 63; ++i) path += "/0";
  EXPECT_EQ(error_alone(nested(65)), "stdin:1: " + path + ": nested deeper than 64 levels");
  EXPECT_EQ(error_alone("{\"kind\":\"x\",\"a\":" + std::string(1'000'000, '[')),
            "stdin:1: " + path + ": nested deeper than 64 levels");
}

TEST(StrictJson, MessagesStayShortAndOneLine) {
  const std::string key(1000, 'k');
  EXPECT_EQ(error_alone(R"({"kind":"x",")" + key + R"(":1e400})"),
            "stdin:1: /" + std::string(48, 'k') + "...: the number is too large");
  EXPECT_EQ(error_alone(R"({"kind":"x","a\nb":1e400})"), "stdin:1: /a\\nb: the number is too large");
}

TEST(StrictJson, Shape) {
  EXPECT_EQ(error_alone("[]"), "stdin:1: expected an object, found an array");
  EXPECT_EQ(error_alone("3"), "stdin:1: expected an object, found an integer");
  EXPECT_EQ(error_alone("{}"), "stdin:1: /kind: the key is missing");
  EXPECT_EQ(error_alone(R"({"kind":7})"), "stdin:1: /kind: expected a string, found an integer");
}

TEST(StrictJson, UnknownKindsAndFieldsAreNotInterpreted) {
  RecordDecoder decoder = small_decoder();
  const Record record = decoder.decode(R"({"kind":"later","v":"x","layer":-1})", 2);
  EXPECT_EQ(std::get<UnknownRecord>(record).kind, "later");
  EXPECT_EQ(error_after_header(replaced(kDemand, "\"step\":17", "\"new\":{\"x\":[1.5,null]},\"step\":17")), "no error");
}

TEST(StrictJson, KeysMayComeInAnyOrder) {
  RecordDecoder decoder = small_decoder();
  const Record record = decoder.decode(
      R"({"counts":[0,5,1,2],"tokens":4,"phase":"mixed","microbatch":1,"layer":3,"step":17,"kind":"demand"})", 2);
  EXPECT_EQ(std::get<Demand>(record).target, (Target{17, 3, 1}));
}

// A prefix of a record is never a record: every cut is an error, and the decoder goes on as if nothing had come.
TEST(StrictJson, EveryPrefixIsAnError) {
  RecordDecoder decoder = small_decoder();
  const std::string header = to_json(small_header());
  for (const std::string& line : {kDemand, header}) {
    for (std::size_t size = 0; size < line.size(); ++size) {
      const std::string text = error_of([&] { decoder.decode(std::string_view(line).substr(0, size), 2); });
      EXPECT_EQ(text.substr(0, 9), "stdin:2: ") << size;
    }
    EXPECT_EQ(error_of([&] { decoder.decode(line, 3); }), "no error");
  }
}

}  // namespace
}  // namespace afore::wire
