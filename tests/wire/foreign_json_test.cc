// Maps and counts in JSON and CSV: what is refused, and what a small file may not blow up to.
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "foreign_test_util.h"
#include "wire/foreign/ascend_json.h"
#include "wire/foreign/check_map.h"
#include "wire/foreign/counts_csv.h"
#include "wire/foreign/eplb_json.h"
#include "wire/foreign/npy.h"
#include "wire/foreign/routed_experts.h"
#include "wire/foreign/sglang_json.h"

namespace afore::wire {
namespace {

using Lines = std::vector<std::string>;

Lines eplb_violations(const std::string& text) { return std::get<MapFile>(parse_eplb_json(text, "e.json")).violations; }

TEST(EplbJson, TablesBesideTheMapSayTheSame) {
  const std::string map = R"({"phy2log":[[0,1,0],[1,1,0]],)";
  EXPECT_EQ(eplb_violations(map + R"("logcnt":[[2,1],[1,2]],"log2phy":[[[2,0],[1,-1]],[[2,-1],[0,1]]]})"), Lines{});
  EXPECT_EQ(eplb_violations(map + R"("logcnt":[[2,1],[1,3]]})"), Lines{"/logcnt/1/1: 3 replicas, phy2log has 2"});
  EXPECT_EQ(eplb_violations(map + R"("log2phy":[[[0,2],[1,-1]],[[1,-1],[0,1]]]})"),
            Lines{"/log2phy/1/0: not the slots that phy2log has this expert in"});
  // Ids beyond the tables are for check_map() to name.
  EXPECT_EQ(eplb_violations(R"({"phy2log":[[0,7,-1]],"logcnt":[[1]],"log2phy":[[[0]]]})"), Lines{});
}

// The longest list sets the length of all: 2^15 replicas of one expert, 2^14 + 1 experts.
TEST(EplbJson, WritesNoTableAboveTheLimit) {
  constexpr int kReplicas = 1 << 15, kExperts = (1 << 14) + 1;
  std::vector<int> row(kReplicas, 0);
  for (int expert = 1; expert < kExperts; ++expert) row.push_back(expert);
  const std::string error = error_of([&] { to_eplb_json({row}, kExperts); });
  EXPECT_EQ(error.substr(0, error.find(" | ")),
            "log2phy would have 1 layers x 16385 experts x 32768 replicas, more than 536870912 cells");
  EXPECT_EQ(to_eplb_json({{0, 1, 0}}, 2), "{\"phy2log\":[[0,1,0]],\"log2phy\":[[[0,2],[1,-1]]],\"logcnt\":[[2,1]]}\n");
}

TEST(MapViolations, NamesAHundredAndCountsTheRest) {
  std::string text = R"({"physical_to_logical_map":[[0,1]])";
  for (int i = 0; i < 103; ++i) text += ",\"k" + std::to_string(i) + "\":0";
  const MapFile map = std::get<MapFile>(parse_sglang_json(text + "}", "s.json"));
  ASSERT_EQ(map.violations.size(), kMaxFormatViolations);
  EXPECT_EQ(map.violations.back(), "/k99: unknown key");
  EXPECT_EQ(map.more_violations, 3);
  const MapReport report = check_map(map, MapTarget::sglang, {});
  ASSERT_EQ(report.violations.size(), kMaxFormatViolations + 1);
  EXPECT_EQ(report.violations.back().fact, "and 3 more");
  EXPECT_TRUE(report.violations.back().fatal);
}

TEST(AscendJson, DevicesWithoutSlotsAreFatal) {
  const std::string head = R"({"moe_layer_count":1,"layer_list":[{"layer_id":0,)";
  for (const char* devices : {R"("device_count":0,"device_list":[]}]})",
                              R"("device_count":1,"device_list":[{"device_id":0,"device_expert":[]}]}]})"}) {
    const MapFile map = parse_ascend_map(head + devices, "a.json");
    EXPECT_EQ(map.violations, Lines{});
    const MapReport report = check_map(map, MapTarget::ascend, {});
    ASSERT_EQ(report.violations.size(), 1u) << devices;
    EXPECT_EQ(report.violations[0].rule, "sizes");
    EXPECT_EQ(report.violations[0].place, "layer 0");
    EXPECT_EQ(report.violations[0].fact, "no slots");
    EXPECT_TRUE(report.fatal());
  }
}

std::string csv_error(const std::string& lines, std::int64_t experts) {
  const std::string text = "layer_id,expert_id,count\n" + lines;
  std::vector<std::pair<std::string, std::vector<std::uint8_t>>> files;
  files.emplace_back("c.csv", std::vector<std::uint8_t>(text.begin(), text.end()));
  return error_of([&] { parse_counts_csv(std::move(files), experts); }, ErrorKind::usage);
}

// One line that names 8192 layers of 65536 experts does not make such a table.
TEST(CountsCsv, AsksBeforeItAllocates) {
  const std::string open =
      "c.csv: not every layer has a count of every expert, so how many there are is open | "
      "give --model PRESET or --experts N";
  EXPECT_EQ(csv_error("8191,65535,1\n", 0), open);
  EXPECT_EQ(csv_error("0,0,1\n1,1,1\n", 0), open);
  EXPECT_EQ(csv_error("0,0,1\n1,1,1\n", 2), "no error");
  EXPECT_EQ(csv_error("0,0,1\n0,1,1\n1,0,4\n1,1,1\n", 0), "no error");
}

TEST(RoutedExperts, NameTheEmptyDimension) {
  const auto error = [](std::vector<std::int64_t> shape) {
    return error_of([&] { RoutedExperts("r", {}).add_npy(to_npy({}, shape, NpyType::int32), "r.npy"); });
  };
  EXPECT_EQ(error({0, 2, 3}), "r.npy: there are no tokens");
  EXPECT_EQ(error({2, 0, 3}), "r.npy: there are no layers");
  EXPECT_EQ(error({2, 3, 0}), "r.npy: there are no experts per token");
}

}  // namespace
}  // namespace afore::wire
