#include "wire/chrome_trace.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace afore::wire {
namespace {

Operation operation(const char* worker, const char* lane, const char* op, int layer, Nanos start, Nanos end) {
  return {worker, lane, op, {7, layer, 0}, start, end};
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

Plan plan(int layer, std::vector<Copy> copies, std::vector<TileShare> assignment) {
  Plan p;
  p.target = {7, layer, 0};
  p.copies = std::move(copies);
  p.assignment = std::move(assignment);
  return p;
}

TEST(ChromeTrace, TimesAreMicrosecondsToTheNanosecond) {
  ChromeTrace trace;
  trace.add(operation("A0", "compute", "attention", 3, 1'234'567, 1'234'570));
  const std::string json = trace.json();
  EXPECT_NE(json.find("\"ts\":1234.567,\"dur\":0.003"), std::string::npos) << json;
  EXPECT_NE(json.find("\"name\":\"L3/mb0 attention\""), std::string::npos);
  EXPECT_NE(json.find("{\"name\":\"attention workers\"}"), std::string::npos);
  EXPECT_EQ(json.find("FFN workers\"}"), std::string::npos) << "a process without threads";
}

TEST(ChromeTrace, ArrowsFollowATargetAndStartWithinTheirSlice) {
  ChromeTrace trace;
  trace.add(operation("A0", "compute", "attention", 3, 0, 100));
  trace.add(operation("A1", "compute", "attention", 3, 0, 120));  // the last: arrows start here
  trace.add(operation("F0", "compute", "expert_ffn", 3, 150, 200));
  trace.add(operation("F1", "compute", "expert_ffn", 3, 150, 220));
  trace.add(operation("A0", "compute", "sampling", 3, 230, 240));
  trace.add(operation("A1", "compute", "sampling", 3, 230, 240));
  const std::string json = trace.json();
  EXPECT_EQ(count(json, "\"ph\":\"s\",\"name\":\"A to F\""), 2u);
  EXPECT_EQ(count(json, "\"tid\":2,\"ts\":0.119"), 2u) << json;
  EXPECT_EQ(count(json, "\"ph\":\"f\",\"name\":\"F to A\""), 2u);
}

// Expert 5 comes to worker 1 for one target and is first used two targets later.
TEST(ChromeTrace, ACopyLeadsToThePlanThatFirstUsesIt) {
  const auto record = [](bool overwritten) {
    ChromeTrace trace;
    Header header;
    header.model.expert_bytes = 1000;
    trace.add(header);
    trace.add(plan(0, {{5, 0, 1, 4}}, {{5, 0, 2}}));
    trace.add(operation("F1", "copy", "copy_expert", 0, 10, 60));
    Plan second = plan(0, {}, {{5, 0, 2}});
    second.target.step = 8;
    if (overwritten) second.copies = {{6, 0, 1, 4}};
    trace.add(second);
    Plan third = plan(0, {}, {{5, 0, 1}, {5, 1, 1}});
    third.target.step = 9;
    trace.add(third);
    trace.add({"F1", "compute", "expert_ffn", {9, 0, 0}, 300, 400});
    return trace.json();
  };
  EXPECT_EQ(count(record(false), "\"name\":\"copied expert\""), 2u);
  EXPECT_EQ(count(record(true), "\"name\":\"copied expert\""), 0u) << "its slot was taken before";
  EXPECT_NE(record(false).find("\"name\":\"copied bytes\",\"pid\":2,\"tid\":0,\"ts\":0.060,\"args\":{\"bytes\":1000}"),
            std::string::npos);
}

TEST(ChromeTrace, KeepsOneStepAndSkipsWhatItDoesNotKnow) {
  ChromeTrace trace(8);
  trace.add(operation("A0", "compute", "attention", 3, 0, 100));  // step 7
  Operation other = operation("A0", "compute", "at\"tention", 3, 0, 100);
  other.target.step = 8;
  other.lane = "elsewhere";
  trace.add(other);
  other.lane = "compute";
  other.worker = "A99999999";
  trace.add(other);
  EXPECT_TRUE(trace.empty());
  other.worker = "A0";
  trace.add(other);
  EXPECT_NE(trace.json().find("\"op\":\"at\\\"tention\""), std::string::npos);
}

}  // namespace
}  // namespace afore::wire
