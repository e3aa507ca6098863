#include "trace/preset_match.h"

#include <gtest/gtest.h>

namespace afore::trace {
namespace {

std::string matched(const std::string& name) {
  const ModelSpec* preset = match_preset(name);
  return preset == nullptr ? "none" : preset->name;
}

TEST(PresetMatch, FindsTheLongestPresetNameInARecordedOne) {
  EXPECT_EQ(matched("openai/gpt-oss-20b"), "gpt-oss-20b");
  EXPECT_EQ(matched("deepseek-ai/ESFT-vanilla-lite (DeepSeek-V2-Lite)"), "deepseek-v2-lite");
  EXPECT_EQ(matched("zai-org/GLM-4.5-Air-FP8"), "glm-4.5-air");
  EXPECT_EQ(matched("afore-tiny"), "afore-tiny");
  EXPECT_EQ(matched("somebody/else"), "none");
}

TEST(RecordedModel, LayersComeFromTheFileThenThePresetThenZero) {
  const ModelSpec* tiny = match_preset("afore-tiny");
  ASSERT_NE(tiny, nullptr);
  EXPECT_EQ(recorded_model("m", 4, {1, 2, 3, 4}, 32, 4, tiny), *tiny);
  EXPECT_EQ(recorded_model("m", 4, {}, 32, 4, tiny).moe_layers, (std::vector<int>{1, 2, 3, 4}));
  const ModelSpec other = recorded_model("m", 3, {}, 16, 2, tiny);
  EXPECT_EQ(other.moe_layers, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(other.layers, 3);
  EXPECT_EQ(other.experts, 16);
  EXPECT_EQ(other.hidden, tiny->hidden);
  const ModelSpec unknown = recorded_model("m", 2, {3, 9}, 16, 2, nullptr);
  EXPECT_EQ(unknown.name, "m");
  EXPECT_EQ(unknown.layers, 10);
  EXPECT_EQ(unknown.hidden, kAbsent);
}

}  // namespace
}  // namespace afore::trace
