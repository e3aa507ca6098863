#include <algorithm>
#include <array>

#include "foreign_test_util.h"
#include "wire/foreign/trtllm.h"
#include "wire/foreign/yaml_tree.h"

namespace afore::wire {
namespace {

using Values = std::vector<std::int64_t>;

std::string yaml_error(const std::string& text) {
  return error_of([&] { YamlTree(text, "c.yaml"); });
}

std::string map_error(const std::string& text) {
  return error_of([&] { parse_trtllm_yaml(text, "c.yaml"); });
}

void expect_p2l(const MapFile& map) {
  EXPECT_EQ(map.axis, LayerAxis::keyed);
  EXPECT_EQ(map.physical, 6);
  EXPECT_EQ(map.violations, std::vector<std::string>());
  ASSERT_EQ(map.rows.size(), 3u);
  const Values layers = {1, 2, 5};
  for (std::size_t row = 0; row < 3; ++row) {
    const auto begin = kP2l.begin() + static_cast<std::ptrdiff_t>(6 * row);
    EXPECT_EQ(map.rows[row].layer, layers[row]);
    EXPECT_EQ(map.rows[row].by_rank, (std::vector<Values>{{begin, begin + 6}}));
  }
}

TEST(TrtllmYaml, AsPyyamlWritesIt) {
  for (const char* name : {"trtllm_flow.yaml", "trtllm_block.yaml", "trtllm_config.yaml"}) {
    SCOPED_TRACE(name);
    expect_p2l(parse_trtllm_yaml(fixture_text(name), name));
  }
  const std::string below = "load_balancer: {num_slots: 2, initial_global_assignments: {4: [0, 1]}}\n";
  EXPECT_EQ(parse_trtllm_yaml(below, "c.yaml").rows[0].layer, 4);
}

TEST(TrtllmYaml, Writes) {
  std::vector<LayerSlots> layers;
  for (std::size_t row = 0; row < 3; ++row) {
    const auto begin = kP2l.begin() + static_cast<std::ptrdiff_t>(6 * row);
    layers.push_back({std::array<std::int64_t, 3>{1, 2, 5}[row], {begin, begin + 6}});
  }
  const std::string text = to_trtllm_yaml(6, 2, layers);
  EXPECT_EQ(text.substr(0, text.find("  2:")),
            "num_slots: 6\nlayer_updates_per_iter: 2\ninitial_global_assignments:\n  1: [0, 1, 2, 3, 0, 1]\n");
  expect_p2l(parse_trtllm_yaml(text, "c.yaml"));
  EXPECT_EQ(map_error(to_trtllm_yaml(6, 0, {})), "c.yaml:3: /initial_global_assignments: there are no layers");
  const MapFile descending =
      parse_trtllm_yaml("num_slots: 1\ninitial_global_assignments: {10: [1], 9: [0]}\n", "c.yaml");
  EXPECT_EQ(descending.rows[0].layer, 9);
  EXPECT_EQ(descending.rows[1].by_rank[0], Values{1});
}

TEST(TrtllmYaml, Violations) {
  const MapFile map = parse_trtllm_yaml(
      "load_balancer:\n  num_slots: 3\n  mode: online\n  initial_global_assignments:\n    7: [0, 1]\nother: 1\n",
      "c.yaml");
  EXPECT_EQ(map.violations,
            (std::vector<std::string>{
                "c.yaml:6: /other: stands beside load_balancer", "c.yaml:3: /load_balancer/mode: unknown key",
                "c.yaml:5: /load_balancer/initial_global_assignments/7: has 2 slots, num_slots is 3"}));
  EXPECT_EQ(parse_trtllm_yaml("initial_global_assignments: {7: [0, 1]}", "c.yaml").violations,
            (std::vector<std::string>{"c.yaml:1: num_slots is absent"}));
}

TEST(TrtllmYaml, Refused) {
  const std::string none =
      "has no initial_global_assignments | without it TensorRT-LLM places the experts in order itself";
  EXPECT_EQ(map_error("num_slots: 3\n"), "c.yaml:1: " + none);
  EXPECT_EQ(map_error("num_slots: 3\ninitial_global_assignments: null\n"), "c.yaml:1: " + none);
  EXPECT_EQ(map_error("a: 1\nmoe_config:\n  load_balancer: ./b.yaml\n"),
            "c.yaml:3: /moe_config/load_balancer: is the path \"./b.yaml\" | give that file instead");
  EXPECT_EQ(map_error("moe_config: {backend: X}\n"), "c.yaml:1: /moe_config: has no load_balancer");
  EXPECT_EQ(map_error("- 1\n"), "c.yaml:1: expected a mapping, found a sequence");
  const auto slots = [](const std::string& row) { return map_error("initial_global_assignments:\n  " + row + "\n"); };
  const std::string place = "c.yaml:2: /initial_global_assignments/";
  EXPECT_EQ(slots("x: [1]"), place + "x: layer \"x\" is no decimal integer");
  EXPECT_EQ(slots("-1: [1]"), place + "-1: layer \"-1\" is outside 0 to 1048576");
  EXPECT_EQ(slots("3: 1"), place + "3: expected a sequence, found a scalar");
  EXPECT_EQ(slots("3: [1, [2]]"), place + "3/1: expected a scalar, found a sequence");
  for (const char* number : {"0x10", "010", "1_0", "1.0", "'1'", "+1", "true", "~", "\"\"", "-", "1:30"})
    EXPECT_NE(slots(std::string("3: [") + number + "]").find("is no decimal integer"), std::string::npos) << number;
  EXPECT_NE(slots("3: [99999999999999999999]").find("is outside"), std::string::npos);
  EXPECT_NE(slots("3: [9007199254740993]").find("is outside"), std::string::npos);
  EXPECT_EQ(map_error(fixture_text("trtllm_alias.yaml")),
            "c.yaml:2: an anchor (&) is not read | write the value out where it is used");
}

TEST(YamlTree, WhatItDoesNotRead) {
  EXPECT_EQ(yaml_error("a: *x\n"), "c.yaml:1: an alias (*) is not read | write the value out where it is used");
  EXPECT_EQ(yaml_error("a: 1\nb: &x [1]\n"),
            "c.yaml:2: an anchor (&) is not read | write the value out where it is used");
  EXPECT_EQ(yaml_error("a: &x 1\n"), "c.yaml:1: an anchor (&) is not read | write the value out where it is used");
  // Nine levels of nine aliases each: refused at the first anchor.
  std::string laughs = "a: &a [lol,lol,lol,lol,lol,lol,lol,lol,lol]\n";
  for (char level = 'b'; level < 'j'; ++level) {
    const std::string below = std::string("*") + static_cast<char>(level - 1);
    laughs += std::string(1, level) + ": &" + level + " [" + below;
    for (int i = 0; i < 8; ++i) laughs += "," + below;
    laughs += "]\n";
  }
  EXPECT_EQ(yaml_error(laughs), "c.yaml:1: an anchor (&) is not read | write the value out where it is used");
  EXPECT_EQ(yaml_error("a: 1\n<<: {b: 2}\n"), "c.yaml:2: a merge key (<<) is not read | write the members out");
  EXPECT_EQ(yaml_error("a: !!int 1\n"), "c.yaml:1: a tag (!) is not read | leave it out");
  EXPECT_EQ(yaml_error("!!python/object/apply:os.system [true]\n"), "c.yaml:1: a tag (!) is not read | leave it out");
  EXPECT_EQ(yaml_error("%YAML 1.1\n---\na: 1\n"), "c.yaml:1: a directive (%) is not read | leave it out");
  EXPECT_EQ(yaml_error("a: 1\n---\nb: 1\n"), "c.yaml:2: a second document begins | keep one of them");
  EXPECT_EQ(yaml_error("a: 1\nb: 2\na: 3\n"), "c.yaml:3: the key \"a\" is there twice, first in line 1");
  EXPECT_EQ(yaml_error("{a: 1, 'a': 3}\n"), "c.yaml:1: the key \"a\" is there twice, first in line 1");
  EXPECT_EQ(yaml_error("? [1]\n: 2\n"), "c.yaml:1: a key is no scalar");
  EXPECT_EQ(yaml_error("a: 1\nb: \xff\n"), "c.yaml:2: the text is not UTF-8");
  EXPECT_EQ(yaml_error(std::string("\xff\xfe"
                                   "a\0",
                                   4)),
            "c.yaml:1: the text is not UTF-8");
  EXPECT_EQ(yaml_error(""), "c.yaml: is empty");
  EXPECT_EQ(yaml_error("# nothing\n"), "c.yaml: is empty");
  EXPECT_NE(yaml_error("a: [1\n").find("c.yaml:2: is no YAML: "), std::string::npos);
  EXPECT_NE(yaml_error("a:\n\t- 1\n").find("c.yaml:2: is no YAML: "), std::string::npos);
  EXPECT_NE(yaml_error(std::string("a: \0b\n", 6)).find("is no YAML: "), std::string::npos);
  EXPECT_EQ(yaml_error(std::string(64, '[') + std::string(64, ']')), "no error");
  EXPECT_EQ(yaml_error(std::string(65, '[') + std::string(65, ']')), "c.yaml:1: values nest deeper than 64 levels");
  EXPECT_EQ(yaml_error(std::string(100'000, '[')), "c.yaml:1: values nest deeper than 64 levels");
}

TEST(YamlTree, Values) {
  const YamlTree tree("a: [1, {b: x, c: []}]\n# more\nd:\n  - ''\n  - ~\n", "c.yaml");
  const YamlValue root = tree.root();
  ASSERT_EQ(root.size(), 2u);
  const YamlValue a = root.find("a"), d = root.find("d");
  ASSERT_TRUE(a && d);
  EXPECT_FALSE(root.find("e"));
  EXPECT_EQ((*a.begin()).integer(0, 9, "number"), 1);
  YamlValue::Iterator item = a.begin();
  ++item;
  EXPECT_EQ((*item).find("b").text(), "x");
  EXPECT_EQ((*item).find("c").size(), 0u);
  EXPECT_EQ((*item).find("c").place(), "c.yaml:1: /a/1/c");
  EXPECT_EQ(d.line(), 4);
  EXPECT_EQ(d.key_value().line(), 3);
  EXPECT_FALSE((*d.begin()).is_null());
  YamlValue::Iterator second = d.begin();
  ++second;
  EXPECT_TRUE((*second).is_null());
  EXPECT_EQ((*second).place(), "c.yaml:5: /d/1");
}

std::vector<NamedBytes> ranks(const std::string& second = "trtllm_rank1.safetensors") {
  return {{"rank0.safetensors", fixture("trtllm_rank0.safetensors")}, {"rank1.safetensors", fixture(second)}};
}

CountsFile statistics(const std::vector<NamedBytes>& files, std::optional<IterationRange> range = {}) {
  return read_trtllm_statistics(fixture_text("trtllm_meta_info.json"), "meta_info.json", files, range);
}

TEST(TrtllmStatistics, SumsRanks) {
  const CountsFile counts = statistics(ranks());
  EXPECT_EQ(counts.axis, LayerAxis::keyed);
  EXPECT_EQ(counts.ids, ExpertIds::logical);
  EXPECT_EQ(counts.layers, (Values{3, 4, 10}));  // as numbers, not as texts
  EXPECT_EQ(counts.step_ids, (Values{100, 101}));
  EXPECT_EQ(counts.steps, 2);
  EXPECT_EQ(counts.rows, 3);
  EXPECT_EQ(counts.cells, 4);
  EXPECT_EQ(counts.experts, 4);
  EXPECT_EQ(counts.top_k, 2);
  Values expected;
  for (const std::int64_t iteration : {100, 101})
    for (const std::int64_t layer : {3, 4, 10})
      for (std::int64_t expert = 0; expert < 4; ++expert)
        expected.push_back(2 * (10 * iteration + layer + expert) + 100);
  EXPECT_EQ(counts.counts, expected);
}

TEST(TrtllmStatistics, Range) {
  const CountsFile counts = statistics(ranks(), IterationRange{101, 200});
  EXPECT_EQ(counts.step_ids, (Values{101}));
  EXPECT_EQ(counts.counts.size(), 12u);
  EXPECT_EQ(error_of([] {
              statistics(ranks(), IterationRange{102, 200});
            }),
            "rank0.safetensors: no iteration is in 102 to 200");
}

TEST(TrtllmStatistics, Refused) {
  EXPECT_EQ(
      error_of([] { statistics(ranks("trtllm_rank1_short.safetensors")); }),
      "rank1.safetensors: iteration 101 of layer 4 is absent, rank0.safetensors has it | are all files of one run?");
  std::vector<NamedBytes> swapped = ranks("trtllm_rank1_short.safetensors");
  std::swap(swapped[0], swapped[1]);
  EXPECT_EQ(error_of([&] { statistics(swapped); }),
            "rank1.safetensors: iteration 101 has no layer 4, or others than iteration 100");
  EXPECT_EQ(
      error_of([] { statistics(ranks("trtllm_rank0_raw.safetensors")); }),
      "rank1.safetensors: tensor \"100_3\": is I32 [5, 2], expected I64 counts of experts | rank*_raw.safetensors "
      "hold other tables");
  EXPECT_EQ(error_of([] { statistics({}); }), "meta_info.json: there is no rank*.safetensors beside it");
  std::vector<NamedBytes> twice = ranks();
  twice[1].name = twice[0].name;
  EXPECT_EQ(error_of([&] { statistics(twice); }), "rank0.safetensors: is given twice");
  EXPECT_EQ(
      error_of([] { read_trtllm_statistics(R"({"num_experts":8,"num_experts_per_token":2})", "m.json", ranks()); }),
      "rank0.safetensors: tensor \"100_10\": has 4 counts, num_experts is 8");
  EXPECT_NE(
      error_of([] { read_trtllm_statistics(R"({"num_experts":8})", "m.json", ranks()); }).find("num_experts_per_token"),
      std::string::npos);
  expect_prefixes_refused(fixture("trtllm_rank0.safetensors"), [](const std::vector<std::uint8_t>& cut) {
    statistics({{"rank0.safetensors", cut}});
  });
}

// A file of one tensor of four counts, with the header as given.
std::string one_error(const std::string& header, std::int64_t count = 1) {
  NamedBytes file{"rank0.safetensors", {}};
  for (int i = 0; i < 8; ++i) file.bytes.push_back(static_cast<std::uint8_t>(header.size() >> 8 * i));
  file.bytes.insert(file.bytes.end(), header.begin(), header.end());
  for (int i = 0; i < 32; ++i)
    file.bytes.push_back(static_cast<std::uint8_t>(static_cast<std::uint64_t>(count) >> 8 * (i % 8)));
  return error_of([&] { statistics({file}); });
}

std::string one_tensor(const std::string& name) {
  return "{\"" + name + R"(":{"dtype":"I64","shape":[4],"data_offsets":[0,32]}})";
}

TEST(TrtllmStatistics, Names) {
  EXPECT_EQ(one_error(one_tensor("5_3")), "no error");
  for (const char* name :
       {"5", "5_", "_3", "5_None", "05_3", "5_03", "-5_3", "5_3_1", "5_ 3", "99999999999999999999_3"})
    EXPECT_EQ(one_error(one_tensor(name)),
              std::string("rank0.safetensors: tensor \"") + name + "\" is not named ITERATION_LAYER");
  EXPECT_EQ(one_error(one_tensor("5_3"), -1), "rank0.safetensors: tensor \"5_3\": the count of expert 0 is negative");
  EXPECT_EQ(one_error(one_tensor("5_3"), INT64_MAX),
            "rank0.safetensors: tensor \"5_3\": the count of expert 0 sums to more than 2^53");
  EXPECT_NE(one_error(R"({"5_3":{"dtype":"I64","shape":[4],"data_offsets":[0,32]},)"
                      R"("5_4":{"dtype":"I64","shape":[4],"data_offsets":[0,32]}})")
                .find("neither overlap nor leave holes"),
            std::string::npos);
}

}  // namespace
}  // namespace afore::wire
