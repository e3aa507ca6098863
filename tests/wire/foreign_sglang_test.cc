#include <string>

#include "foreign_test_util.h"
#include "wire/foreign/sglang_pt.h"

namespace afore::wire {
namespace {

using Values = std::vector<std::int64_t>;
using std::string_literals::operator""s;

template <class File>
File parsed(const std::string& name) {
  return std::get<File>(parse_sglang_torch(fixture(name), name));
}

const std::vector<std::string> kNames = {"a.pt", "b.pt"};

TEST(SglangTorch, Map) {
  const MapFile map = parsed<MapFile>("sglang_map.pt");
  EXPECT_EQ(map.axis, LayerAxis::hidden);
  EXPECT_EQ(map.physical, 6);
  EXPECT_TRUE(map.violations.empty());
  ASSERT_EQ(map.rows.size(), 3u);
  for (std::size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(map.rows[row].layer, static_cast<std::int64_t>(row));
    EXPECT_EQ(map.rows[row].by_rank, (std::vector<Values>{{kP2l.begin() + static_cast<std::ptrdiff_t>(6 * row),
                                                           kP2l.begin() + static_cast<std::ptrdiff_t>(6 * row + 6)}}));
  }
}

TEST(SglangTorch, MapOfListsWithAKeyTooMany) {
  const MapFile map = parsed<MapFile>("sglang_map_lists.pt");
  ASSERT_EQ(map.rows.size(), 3u);
  EXPECT_EQ(map.rows[1].by_rank[0], (Values{0, 1, 2, 3, 2, 3}));
  EXPECT_EQ(map.violations, (std::vector<std::string>{"unknown key \"note\""}));
}

TEST(SglangTorch, LogicalCounts) {
  const CountsFile flat = parsed<CountsFile>("sglang_count_2d.pt"), steps = parsed<CountsFile>("sglang_stat.pt");
  EXPECT_EQ(flat.steps, 1);
  EXPECT_EQ(flat.rows, 3);
  EXPECT_EQ(flat.cells, 4);
  EXPECT_EQ(flat.counts, numbers(12));
  EXPECT_EQ(steps.steps, 2);
  EXPECT_EQ(steps.counts, numbers(24));
  EXPECT_EQ(steps.experts, 4);
  EXPECT_EQ(steps.axis, LayerAxis::hidden);
  EXPECT_EQ(steps.ids, ExpertIds::logical);
  EXPECT_FALSE(steps.rank.has_value());  // of all ranks, though rank 0 wrote it
  EXPECT_TRUE(steps.step_ids.empty());
}

TEST(SglangTorch, PerPass) {
  const CountsFile dump = parsed<CountsFile>("sglang_per_pass_1.pt");
  EXPECT_EQ(dump.ids, ExpertIds::physical);
  EXPECT_EQ(dump.step_ids, (Values{7, 8}));
  EXPECT_EQ(dump.steps, 2);
  EXPECT_EQ(dump.rows, 3);
  EXPECT_EQ(dump.cells, 6);
  EXPECT_EQ(dump.rank, 1);
  EXPECT_EQ(dump.physical_to_logical, kP2l);
  EXPECT_EQ(Values(dump.counts.begin(), dump.counts.begin() + 18), numbers(18, 100));
  EXPECT_EQ(Values(dump.counts.begin() + 18, dump.counts.end()), numbers(18, 120));
}

TEST(SglangTorch, PerPassOfRanks) {
  const CountsFile sum =
      sum_ranks({parsed<CountsFile>("sglang_per_pass_0.pt"), parsed<CountsFile>("sglang_per_pass_1.pt")}, kNames);
  ASSERT_EQ(sum.counts.size(), 36u);
  for (std::size_t i = 0; i < 36; ++i) {
    const auto cell = static_cast<std::int64_t>(i % 18), pass = static_cast<std::int64_t>(i / 18);
    EXPECT_EQ(sum.counts[i], 100 + 40 * pass + 2 * cell);
  }
  EXPECT_EQ(sum.step_ids, (Values{7, 8}));
  EXPECT_FALSE(sum.rank.has_value());
}

TEST(SglangTorch, RanksThatDoNotFit) {
  const CountsFile a = parsed<CountsFile>("sglang_per_pass_0.pt"), b = parsed<CountsFile>("sglang_per_pass_1.pt");
  const auto refusal = [&](const CountsFile& left, const CountsFile& right) {
    return error_of([&] { sum_ranks({left, right}, kNames); });
  };
  EXPECT_EQ(refusal(a, a), "b.pt: is of rank 0, and so is a.pt");
  CountsFile less = b;
  less.step_ids.pop_back();
  less.counts.resize(18);
  EXPECT_EQ(refusal(a, less),
            "b.pt: rank 1: forward pass 8 is absent, a.pt: rank 0 has it | take the dumps of one recording");
  EXPECT_EQ(refusal(less, a),
            "a.pt: rank 1: forward pass 8 is absent, b.pt: rank 0 has it | take the dumps of one recording");
  CountsFile later = b;
  later.step_ids = {8, 9};
  EXPECT_EQ(refusal(a, later),
            "b.pt: rank 1: forward pass 7 is absent, a.pt: rank 0 has it | take the dumps of one recording");
  CountsFile other = b;
  other.physical_to_logical[0] = 3;
  EXPECT_EQ(refusal(a, other),
            "b.pt: its map is not that of a.pt | the dumps are of different moments; take them together");
  CountsFile wide = b;
  wide.cells = 9;
  EXPECT_EQ(refusal(a, wide), "b.pt: has 3 layers of 9 slots, a.pt has 3 of 6");
  CountsFile full = b;
  full.counts[5] = std::int64_t{1} << 53;
  EXPECT_EQ(refusal(a, full), "b.pt: a count sums to more than 2^53");
  const CountsFile stat = parsed<CountsFile>("sglang_stat.pt");
  EXPECT_EQ(refusal(stat, stat), "a.pt: its counts are of all ranks already | give this file alone");
}

// ids [3 layers][tokens][3] of rank r, record i: (r + i + position) % 6, the last choice of each token absent.
TEST(SglangTorch, PerToken) {
  const RoutingFile dump = parsed<RoutingFile>("sglang_per_token_1.pt");
  EXPECT_TRUE(dump.passes);
  EXPECT_EQ(dump.ids_of, ExpertIds::physical);
  EXPECT_EQ(dump.tokens, 4);
  EXPECT_EQ(dump.rows, 3);
  EXPECT_EQ(dump.top_k, 3);
  EXPECT_EQ(dump.cells, 6);
  EXPECT_EQ(dump.physical_to_logical, kP2l);
  EXPECT_EQ(dump.rank, 1);
  ASSERT_EQ(dump.spans.size(), 3u);
  EXPECT_EQ(dump.spans[0].id, "0");
  EXPECT_EQ(dump.spans[0].tokens, 3);
  EXPECT_EQ(dump.spans[1].id, "10");
  EXPECT_EQ(dump.spans[1].tokens, 0);
  EXPECT_EQ(dump.spans[2].id, "20");
  EXPECT_EQ(dump.spans[2].offset, 3);
  EXPECT_EQ(dump.spans[2].tokens, 1);
  ASSERT_EQ(dump.ids.size(), 36u);
  for (std::int64_t token = 0; token < 4; ++token)
    for (std::int64_t row = 0; row < 3; ++row)
      for (std::int64_t choice = 0; choice < 3; ++choice) {
        const bool last = token == 3;
        const std::int64_t position = ((row * (last ? 1 : 3)) + (last ? 0 : token)) * 3 + choice;
        const std::int64_t expected = choice == 2 ? -1 : (1 + (last ? 2 : 0) + position) % 6;
        EXPECT_EQ(dump.ids[static_cast<std::size_t>((token * 3 + row) * 3 + choice)], expected);
      }
}

TEST(SglangTorch, PerTokenOfRanks) {
  const RoutingFile a = parsed<RoutingFile>("sglang_per_token_0.pt"), b = parsed<RoutingFile>("sglang_per_token_1.pt");
  const RoutingFile joined = join_ranks({a, b}, kNames);
  EXPECT_EQ(joined.tokens, 7);
  ASSERT_EQ(joined.spans.size(), 3u);
  EXPECT_EQ(joined.spans[0].tokens, 5);
  EXPECT_EQ(joined.spans[1].tokens, 0);
  EXPECT_EQ(joined.spans[2].offset, 5);
  EXPECT_EQ(joined.spans[2].tokens, 2);
  ASSERT_EQ(joined.ids.size(), 63u);
  const auto part = [](const std::vector<std::int32_t>& ids, std::int64_t first, std::int64_t end) {
    return std::vector<std::int32_t>(ids.begin() + first * 9, ids.begin() + end * 9);
  };
  EXPECT_EQ(part(joined.ids, 0, 2), part(a.ids, 0, 2));
  EXPECT_EQ(part(joined.ids, 2, 5), part(b.ids, 0, 3));
  EXPECT_EQ(part(joined.ids, 5, 6), part(a.ids, 2, 3));
  EXPECT_EQ(part(joined.ids, 6, 7), part(b.ids, 3, 4));
  RoutingFile less = b;
  less.spans.erase(less.spans.begin() + 1);
  EXPECT_EQ(error_of([&] {
              join_ranks({a, less}, kNames);
            }),
            "b.pt: rank 1: forward pass 10 is absent, a.pt: rank 0 has it | take the dumps of one recording");
  EXPECT_EQ(join_ranks({a}, {"a.pt"}).ids, a.ids);
}

TEST(SglangTorch, Refused) {
  EXPECT_EQ(
      error_of([] { parse_sglang_torch(fixture("torch_values.pt"), "v.pt"); }),
      "v.pt: has no key physical_to_logical_map, logical_count or records | neither an expert location nor a dump "
      "of SGLang's recorder");
  for (const char* name : {"sglang_stat.pt", "sglang_per_pass_0.pt", "sglang_per_token_0.pt"})
    expect_prefixes_refused(fixture(name),
                            [](const std::vector<std::uint8_t>& cut) { parse_sglang_torch(cut, "f.pt"); });
}

// Dumps as pickles of lists in place of tensors, so that what is in a record can be varied.
std::string text_opcode(const std::string& text) {
  return std::string{'X', static_cast<char>(text.size()), 0, 0, 0} + text;
}

std::string record(const std::string& pass, const std::string& rank, const std::string& gatherer,
                   const std::string& key, const std::string& value) {
  return "}(" + text_opcode("forward_pass_id") + pass + text_opcode("rank") + rank + text_opcode("gatherer_key") +
         text_opcode(gatherer) + text_opcode(key) + value + "u";
}

// One layer of two slots.
std::string dump_error(const std::string& records) {
  const std::string pickle = "\x80\2}("s + text_opcode("records") + "](" + records + "e" +
                             text_opcode("last_physical_to_logical_map") + "](](K\0K\1eeu."s;
  return error_of([&] {
    TorchFile file({pickle.begin(), pickle.end()}, {}, false, "f.pt");
    read_sglang(file);
  });
}

TEST(SglangTorch, Records) {
  const std::string counts = "](](K\5K\6ee", seven = "K\7", rank = "K\1", key = "global_physical_count";
  const std::string good = record(seven, rank, "primary", key, counts);
  EXPECT_EQ(dump_error(good), "no error");
  EXPECT_EQ(dump_error(""), "f.pt: records: no forward pass was recorded | start the recorder before the requests");
  EXPECT_EQ(dump_error(good + good), "f.pt: records[1].forward_pass_id: pass 7 follows pass 7");
  EXPECT_EQ(dump_error(record("N", rank, "primary", key, counts)),
            "f.pt: records[0].forward_pass_id: expected an int, found None");
  EXPECT_EQ(dump_error(record("J\xff\xff\xff\xff", rank, "primary", key, counts)),
            "f.pt: records[0].forward_pass_id: -1 is no forward pass");
  EXPECT_EQ(dump_error(good + record("K\x8", "K\2", "primary", key, counts)), "f.pt: records[1].rank: is 2, before 1");
  EXPECT_EQ(dump_error(record(seven, rank, "child_a", key, counts)),
            "f.pt: records[0].gatherer_key: is \"child_a\", only primary is read");
  EXPECT_EQ(dump_error(record(seven, rank, "primary", "x", counts)),
            "f.pt: records[0]: has no key \"global_physical_count\"");
  const auto table = [&](const std::string& value) { return dump_error(record(seven, rank, "primary", key, value)); };
  const std::string place = "f.pt: records[0].global_physical_count";
  EXPECT_EQ(table("](](K\5K\6K\7ee"), place + ": the shape [1, 3] is not that of the map, [1, 2]");
  EXPECT_EQ(table("](](K\5K\6e](K\5ee"), place + "[1]: ragged: 1 items, before 2");
  EXPECT_EQ(table("](K\5K\6e"), place + "[0]: expected a list");
  EXPECT_EQ(table("](](](K\5eee"), place + "[0][0]: lists nest too deep");
  EXPECT_EQ(table("](](K\5J\xff\xff\xff\xff"
                  "ee"),
            place + ": the count -1 is negative");
  EXPECT_EQ(table("N"), place + ": expected a list, found None");
}

TEST(SglangTorch, TokenRecords) {
  const std::string seven = "K\7", rank = "K\1", key = "topk_ids_of_layer";
  const auto ids = [&](const std::string& value) { return dump_error(record(seven, rank, "primary", key, value)); };
  const std::string place = "f.pt: records[0].topk_ids_of_layer: ";
  EXPECT_EQ(ids("](](](K\1eee"), "no error");
  EXPECT_EQ(ids("](](](K\2eee"), place + "id 2 is out of range, there are 2 slots");
  EXPECT_EQ(ids("](](](J\xfe\xff\xff\xff"
                "eee"),
            place + "id -2 is out of range, there are 2 slots");
  EXPECT_EQ(ids("](](](K\1K\0K\1eee"s), place + "the shape [1, 1, 3] is not (1 layers, tokens, 3 of 2 slots)");
  EXPECT_EQ(dump_error(record(seven, rank, "primary", key, "](](](K\1eee") +
                       record("K\x8", rank, "primary", key, "](](](K\1K\0eee"s)),
            "f.pt: records[1].topk_ids_of_layer: the shape [1, 1, 2] is not (1 layers, tokens, 1 of 2 slots)");
}

}  // namespace
}  // namespace afore::wire
