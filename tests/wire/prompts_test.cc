#include "wire/prompts.h"

#include <gtest/gtest.h>

#include "util/error.h"

namespace afore::wire {
namespace {

PromptLine parse(std::string_view line) { return parse_prompt_line(line, "p.jsonl", 7); }

std::string error_of(std::string_view line) {
  try {
    parse(line);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "";
}

TEST(PromptLine, EveryKey) {
  const PromptLine line =
      parse(R"({"id":"a","prompt":"Hi\n","max_tokens":3,"temperature":0.5,"top_p":0.9,"seed":7,"stop":["x","yz"],)"
            R"("ignore_eos":true,"arrival_ms":1.5})");
  EXPECT_EQ(line.id, "a");
  EXPECT_EQ(line.prompt, "Hi\n");
  EXPECT_EQ(line.max_tokens, 3);
  EXPECT_EQ(line.temperature, 0.5);
  EXPECT_EQ(line.top_p, 0.9);
  EXPECT_EQ(line.seed, 7u);
  EXPECT_EQ(line.stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_EQ(line.ignore_eos, true);
  EXPECT_EQ(line.arrival_ns, 1'500'000);
}

TEST(PromptLine, LeavesTheRestToTheRun) {
  const PromptLine line = parse(R"({"prompt":"Hi","stop":null})");
  EXPECT_TRUE(line.id.empty());
  EXPECT_FALSE(line.max_tokens || line.temperature || line.top_p || line.seed || line.ignore_eos);
  EXPECT_TRUE(line.stop.empty());
  EXPECT_EQ(parse(R"({"prompt":"Hi","stop":"\n"})").stop, std::vector<std::string>{"\n"});
}

TEST(PromptLine, RefusesWithPlaceAndFact) {
  EXPECT_NE(error_of(R"({"id":"a"})").find("p.jsonl:7: "), std::string::npos);
  for (const char* bad :
       {R"({"prompt":""})", R"({"prompt":3})", R"({"prompt":"a","max_token":3})", R"({"prompt":"a","max_tokens":0})",
        R"({"prompt":"a","temperature":-1})", R"({"prompt":"a","temperature":1e300})", R"({"prompt":"a","top_p":0})",
        R"({"prompt":"a","top_p":1.01})", R"({"prompt":"a","seed":-1})", R"({"prompt":"a","stop":[""]})",
        R"({"prompt":"a","stop":{}})", R"({"prompt":"a","ignore_eos":1})", R"({"prompt":"a","arrival_ms":-1})",
        R"({"prompt":"a","prompt":"b"})", R"(["a"])", R"({"prompt":"a")", R"("a")"}) {
    const std::string error = error_of(bad);
    EXPECT_NE(error.find("p.jsonl:7"), std::string::npos) << bad << " -> " << error;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace afore::wire
