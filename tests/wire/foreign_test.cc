#include <numeric>

#include "util/line_io.h"
#include "wire/foreign/sglang_json.h"
#include "wire_test_util.h"

namespace afore::wire {
namespace {

constexpr std::size_t kCap = 64u << 20;

std::string text_of(const std::filesystem::path& path) {
  const std::vector<std::uint8_t> bytes = read_file_bytes(path.string(), kCap);
  return {bytes.begin(), bytes.end()};
}

std::string meta_error(const std::string& text) {
  return error_of([&] { parse_routing_ids_meta(text, "m.json"); });
}

const std::string kRequests =
    R"({"model":"m","layers":2,"experts":32,"topk":4,"tokens":10,"requests":[{"prompt_tokens":7,"tokens":6,"offset":0},)"
    R"({"x":null,"prompt_tokens":0,"tokens":4,"offset":6}]})";
const std::string kLengths =
    R"({"task":"t","model":"m","experts":64,"topk":6,"moe_layers":[1,2,3],"tokens":10,"seq_lens":[6,4]})";

TEST(RoutingIdsMetaFile, Requests) {
  const RoutingIdsMeta meta = parse_routing_ids_meta(kRequests, "m.json");
  EXPECT_EQ(meta.model_name, "m");
  EXPECT_EQ(meta.layers, 2);
  EXPECT_EQ(meta.experts, 32);
  EXPECT_EQ(meta.top_k, 4);
  EXPECT_EQ(meta.tokens, 10);
  EXPECT_TRUE(meta.moe_layers.empty());
  ASSERT_EQ(meta.requests.size(), 2u);
  EXPECT_EQ(meta.requests[0].prompt_tokens, 7);
  EXPECT_EQ(meta.requests[1].tokens, 4);
  EXPECT_EQ(meta.requests[1].offset, 6);
}

TEST(RoutingIdsMetaFile, SequenceLengths) {
  const RoutingIdsMeta meta = parse_routing_ids_meta(kLengths, "m.json");
  EXPECT_EQ(meta.layers, 3);
  EXPECT_EQ(meta.moe_layers, (std::vector<int>{1, 2, 3}));
  ASSERT_EQ(meta.requests.size(), 2u);
  EXPECT_EQ(meta.requests[0].prompt_tokens, 0);
  EXPECT_EQ(meta.requests[1].offset, 6);
  EXPECT_EQ(meta.requests[1].tokens, 4);
}

TEST(RoutingIdsMetaFile, Errors) {
  EXPECT_EQ(meta_error(replaced(kRequests, "\"offset\":6", "\"offset\":7")),
            "m.json: /requests/1: the request ends at token 11, the file has 10");
  EXPECT_EQ(meta_error(replaced(kLengths, "[6,4]", "[6,5]")),
            "m.json: /seq_lens/1: the request ends at token 11, the file has 10");
  EXPECT_EQ(meta_error(replaced(kLengths, "[6,4]", "[6,0]")), "m.json: /seq_lens/1: length 0 is below 1");
  EXPECT_EQ(meta_error(replaced(kLengths, "[6,4]", "[]")), "m.json: there are no requests");
  EXPECT_EQ(meta_error(replaced(kLengths, "seq_lens", "lens")),
            "m.json: neither requests nor seq_lens says where requests begin");
  EXPECT_EQ(meta_error(replaced(kLengths, "[1,2,3]", "[1,1,3]")), "m.json: /moe_layers/1: layers are not ascending");
  EXPECT_EQ(meta_error(replaced(kLengths, "\"task\"", "\"layers\":4,\"task\"")),
            "m.json: /layers: layers is 4, moe_layers has 3 | layers counts the recorded layers, the MoE ones");
  EXPECT_EQ(meta_error(replaced(kRequests, "\"experts\":32", "\"experts\":257")),
            "m.json: /experts: experts 257 is above 256");
  EXPECT_EQ(meta_error(replaced(kRequests, "\"topk\":4", "\"topk\":33")), "m.json: /topk: topk 33 is above 32");
  EXPECT_EQ(meta_error(replaced(kRequests, "\"topk\":4,", "")), "m.json: /topk: the key is missing");
  EXPECT_EQ(meta_error(replaced(kRequests, "\"offset\":6", "\"offset\":-6")),
            "m.json: /requests/1/offset: offset is negative");
}

TEST(RoutingIdsMetaFile, RealFiles) {
  const std::filesystem::path root = real_inputs();
  if (root.empty()) GTEST_SKIP() << "skipped: no real inputs (AFORE_SHARED)";
  int files = 0;
  for (const char* folder : {"data/gptoss20b_routing", "data/esft_dsv2lite_routing", "models/tiny/routing"}) {
    for (const auto& entry : std::filesystem::directory_iterator(root / folder)) {
      if (entry.path().extension() != ".json") continue;
      SCOPED_TRACE(entry.path().string());
      ++files;
      const RoutingIdsMeta meta = parse_routing_ids_meta(text_of(entry.path()), entry.path().string());
      std::int64_t tokens = 0;
      for (const auto& request : meta.requests) {
        EXPECT_EQ(request.offset, tokens);
        tokens += request.tokens;
      }
      EXPECT_EQ(tokens, meta.tokens);
      std::string ids = entry.path().string();
      for (const char* suffix : {".json", ".index"})
        if (ids.ends_with(suffix)) ids.resize(ids.size() - std::string(suffix).size());
      EXPECT_EQ(static_cast<std::int64_t>(read_file_bytes(ids + ".ids.u8.zst", kCap).size()),
                meta.tokens * meta.layers * meta.top_k);
    }
  }
  EXPECT_GE(files, 8);
}

CountsFile sglang_counts(const std::string& table) {
  return std::get<CountsFile>(parse_sglang_json("{\"logical_count\":" + table + "}", "c.json"));
}

std::string count_error(const std::string& table) {
  return error_of([&] { sglang_counts(table); });
}

TEST(LogicalCountFile, TwoAndThreeDimensions) {
  const CountsFile sum = sglang_counts("[[0.0,1.0],[2,3e2]]");
  EXPECT_EQ(sum.steps, 1);
  EXPECT_EQ(sum.counts, (std::vector<std::int64_t>{0, 1, 2, 300}));
  const CountsFile steps = sglang_counts("[[[1,2],[3,4]],[[10,20],[30,40]],[[0,0],[0,0]]]");
  EXPECT_EQ(steps.steps, 3);
  EXPECT_EQ(steps.rows, 2);
  EXPECT_EQ(steps.cells, 2);
  EXPECT_EQ(steps.counts, (std::vector<std::int64_t>{1, 2, 3, 4, 10, 20, 30, 40, 0, 0, 0, 0}));
  EXPECT_EQ(sglang_counts("[[10000000.0,4503599627370496.0]]").counts,
            (std::vector<std::int64_t>{10'000'000, 4503599627370496}));
}

TEST(LogicalCountFile, Errors) {
  EXPECT_EQ(count_error("[[1,2.5]]"), "c.json: /logical_count/0/1: expected a whole number, found 2.5");
  EXPECT_EQ(count_error("[[1,-2]]"), "c.json: /logical_count/0/1: count is negative");
  EXPECT_EQ(count_error("[[1,-2.0]]"), "c.json: /logical_count/0/1: count is negative");
  EXPECT_EQ(count_error("[[1,NaN]]"), "c.json: /logical_count/0/1: NaN is not a JSON number");
  EXPECT_EQ(count_error("[[1,1e400]]"), "c.json: /logical_count/0/1: the number is too large");
  EXPECT_EQ(count_error("[[1,1e300]]"), "c.json: /logical_count/0/1: count is beyond 2^53");
  EXPECT_EQ(count_error("[[1,2],[3]]"), "c.json: /logical_count/1: ragged: 1 entries, before 2");
  EXPECT_EQ(count_error("[[[1,2]],[[3,4],[5,6]]]"), "c.json: /logical_count/1: ragged: 2 entries, before 1");
  EXPECT_EQ(count_error("[[[1,2]],[[3]]]"), "c.json: /logical_count/1/0: ragged: 1 entries, before 2");
  EXPECT_EQ(count_error("[[[1,2]],[3,4]]"), "c.json: /logical_count/1: ragged: 2 entries, before 1");
  EXPECT_EQ(count_error("[[1,2],3]"), "c.json: /logical_count/1: expected an array, found an integer");
  EXPECT_EQ(count_error("[[1,\"2\"]]"), "c.json: /logical_count/0/1: expected an integer, found a string");
  EXPECT_EQ(count_error("[]"), "c.json: /logical_count: the list is empty");
  EXPECT_EQ(count_error("[[]]"), "c.json: /logical_count/0: the list is empty");
  EXPECT_EQ(count_error("[1,2]"),
            "c.json: /logical_count: the counts have 1 dimensions, not [layers][experts] or [steps][layers][experts]");
}

TEST(LogicalCountFile, RealFiles) {
  const std::filesystem::path root = real_inputs();
  if (root.empty()) GTEST_SKIP() << "skipped: no real inputs (AFORE_SHARED)";
  for (const char* file : {"decode_in2000out100.json", "prefill_in1024.json"}) {
    const auto table = parse_sglang_json(text_of(root / "data/sglang_dsv3" / file), file);
    const CountsFile& counts = std::get<CountsFile>(table);
    ASSERT_EQ(counts.rows, 61);
    ASSERT_EQ(counts.cells, 256);
    std::int64_t total = 0;
    for (std::int64_t layer = 0; layer < counts.rows; ++layer) {
      const auto row = counts.counts.begin() + layer * counts.cells;
      const std::int64_t sum = std::accumulate(row, row + counts.cells, std::int64_t{0});
      EXPECT_EQ(sum == 0, layer < 3) << layer;  // the first three layers of this model are dense
      total += sum;
    }
    EXPECT_GT(total, 0);
  }
}

}  // namespace
}  // namespace afore::wire
