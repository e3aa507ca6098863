#include <fstream>
#include <iterator>

#include "core/cost_model.h"
#include "wire_test_util.h"

namespace afore::wire {
namespace {

std::string h100() { return to_json(*find_hardware_profile("h100")); }

std::string replaced_all(std::string text, const std::string& from, const std::string& to) {
  for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
  return text;
}

std::string error_in(const std::string& text) {
  return error_of([&] { parse_cost_file(text, "h.json"); });
}

TEST(CostFile, RoundTripOfEveryBuiltInProfile) {
  for (const std::string& name : hardware_profile_names()) {
    HardwareProfile profile = *find_hardware_profile(name);
    EXPECT_EQ(parse_cost_file(to_json(profile), "x"), profile);
    profile.ffn_c1_ns = 700;
    profile.ffn_c2_ns = 1;
    EXPECT_EQ(parse_cost_file(to_json(profile), "x"), profile);
  }
}

TEST(CostFile, WrittenForm) {
  EXPECT_EQ(h100(),
            R"({"name":"h100","flops_per_s":9.89e+14,"flops_efficiency":0.6,"memory_bytes_per_s":3.35e+12,)"
            R"("memory_efficiency":0.8,"link_bytes_per_s":4.5e+11,"link_efficiency":0.8,"link_latency_ns":10000,)"
            R"("copy_bytes_per_s":3.6e+11,"copy_latency_ns":10000,"ffn_c0_ns":5000,"attention_c0_ns":5000,)"
            R"("control_latency_ns":2000,"scheduler_ns":10000,"sampling_ns":20000,"source_bytes_per_s":5.12e+10})");
}

TEST(CostFile, TheRateOfTheSourceMayBeAbsent) {
  const std::string text = replaced(h100(), R"(,"source_bytes_per_s":5.12e+10)", "");
  EXPECT_EQ(parse_cost_file(text, "x").source_bytes_per_s, HardwareProfile{}.source_bytes_per_s);
  EXPECT_EQ(error_in(replaced(h100(), "5.12e+10", "0.5")),
            "h.json: /source_bytes_per_s: a rate must be from 1 to 1e20 per second");
}

TEST(CostFile, TheRuleIsWrittenOnlyWhenItIsNotTheUsualOne) {
  HardwareProfile profile = *find_hardware_profile("h100");
  profile.ffn_rule = LoadRule::roofline;
  const std::string text = to_json(profile);
  EXPECT_EQ(text, replaced(h100(), "}", R"(,"ffn_rule":"roofline"})"));
  EXPECT_EQ(parse_cost_file(text, "x"), profile);
  EXPECT_EQ(parse_cost_file(replaced(text, "roofline", "additive"), "x"), *find_hardware_profile("h100"));
  EXPECT_EQ(error_in(replaced(text, "roofline", "both")),
            "h.json: /ffn_rule: unknown rule \"both\" | rules are additive and roofline");
}

HardwareProfile measured_profile() {
  HardwareProfile profile = *find_hardware_profile("h100");
  Calibration measured{.producer = "afore-migrate 0.1.0",
                       .command = {"afore-migrate", "calibrate"},
                       .seed = 7,
                       .device = "cpu",
                       .device_name = "a \"processor\"",
                       .arithmetic = "avx2",
                       .units = 2,
                       .workers = 4,
                       .virtual_workers = true};
  measured.copies.push_back({"host", 1500, 4e9, {11, 0.999, 0.01, 0.02, {}}});
  measured.copies.push_back({"peer", 0, 3.5e11, {2, -0.5, 0, 1.25, {"copy_latency_ns"}}});
  measured.ffn = FfnCalibration{4096, 1408, 64, 0, {12, 1, 0.125, 0.25, {}}};
  profile.measured = measured;
  return profile;
}

TEST(CostFile, SmsOfWorkersOnOneGpuAreKept) {
  HardwareProfile profile = measured_profile();
  profile.measured->sm_split = SmSplit{132, 64, ""};
  const std::string text = to_json(profile);
  EXPECT_NE(text.find(R"("sm_partitions":{"gpu_sms":132,"worker_sms":64,"why_plain":null})"), std::string::npos);
  EXPECT_EQ(parse_cost_file(text, "x"), profile);
  EXPECT_EQ(error_in(replaced(text, R"("worker_sms":64)", R"("worker_sms":133)")),
            "h.json: /measured/sm_partitions/worker_sms: number of SMs 133 is above 132");
  EXPECT_EQ(error_in(replaced(text, R"("worker_sms":64)", R"("worker_sms":null)")),
            "h.json: /measured/sm_partitions/worker_sms: either a partition has SMs, or there is a reason why there is "
            "none");
  EXPECT_EQ(error_in(replaced(text, R"("gpu_sms")", R"("gpu_sms":132,"sms")")),
            "h.json: /measured/sm_partitions/sms: unknown key | docs/migrate.md lists the keys of \"sm_partitions\"");
  profile.measured->sm_split = SmSplit{132, 0, "driver 12.2 has no green contexts"};
  EXPECT_EQ(parse_cost_file(to_json(profile), "x"), profile);
}

TEST(CostFile, WhatMeasuredValuesRestOnIsKept) {
  HardwareProfile profile = measured_profile();
  const std::string text = to_json(profile);
  EXPECT_EQ(parse_cost_file(text, "x"), profile);
  EXPECT_EQ(to_json(parse_cost_file(text, "x")), text);
  EXPECT_NE(
      text.find(R"("measured":{"producer":"afore-migrate 0.1.0","command":["afore-migrate","calibrate"],"seed":7,)"),
      std::string::npos);
  profile.measured->ffn.reset();
  EXPECT_EQ(parse_cost_file(to_json(profile), "x"), profile);
  EXPECT_FALSE(slowed(profile, 2).measured.has_value()) << "a slowed machine was not measured";
}

TEST(CostFile, MeasuredIsReadStrictly) {
  const std::string text = to_json(measured_profile());
  EXPECT_EQ(error_in(replaced(text, R"("path":"peer")", R"("path":"pear")")),
            "h.json: /measured/copies/1/path: not one of host, d2d, peer, nccl");
  EXPECT_EQ(error_in(replaced(text, R"("hidden":4096)", R"("hiden":4096)")),
            "h.json: /measured/ffn/hiden: unknown key | docs/migrate.md lists the keys of \"measured\"");
  EXPECT_EQ(error_in(replaced(text, R"("bytes_per_s":4e+09)", R"("bytes_per_s":0.5)")),
            "h.json: /measured/copies/0/bytes_per_s: a rate must be from 1 to 1e20 per second");
  EXPECT_EQ(error_in(replaced(text, R"("r2":0.999)", R"("r2":1.5)")), "h.json: /measured/copies/0/r2: R² is at most 1");
  EXPECT_EQ(error_in(replaced(text, R"("worst_error":0.25)", R"("worst_error":-1)")),
            "h.json: /measured/ffn/worst_error: an error is negative");
}

TEST(CostFile, TimesPerTokenMayBeAbsentAndMayBeZero) {
  HardwareProfile profile = *find_hardware_profile("h100");
  profile.attention_token_ns = 0;
  profile.attention_kv_ns = 0.125;
  profile.sampling_token_ns = 1e9;
  const std::string text = to_json(profile);
  EXPECT_EQ(text,
            replaced(h100(), "}", R"(,"attention_token_ns":0.0,"attention_kv_ns":0.125,"sampling_token_ns":1e+09})"));
  EXPECT_EQ(parse_cost_file(text, "x"), profile);
  profile.attention_kv_ns = -1;
  EXPECT_EQ(to_json(profile).find("attention_kv_ns"), std::string::npos);
  EXPECT_EQ(parse_cost_file(to_json(profile), "x"), profile);
  EXPECT_EQ(parse_cost_file(replaced(text, "0.125", "3"), "x").attention_kv_ns, 3) << "an integer is a number";
  for (const char* bad : {"-1", "-0.5", "1.1e9"})
    EXPECT_EQ(error_in(replaced(text, "0.125", bad)),
              "h.json: /attention_kv_ns: a time per token must be from 0 to 1e9 ns")
        << bad;
  EXPECT_EQ(error_in(replaced(text, "0.125", "\"1\"")), "h.json: /attention_kv_ns: expected a number, found a string");
}

TEST(CostFile, RoundTripOfASlowedProfile) {
  for (const std::string& name : hardware_profile_names()) {
    HardwareProfile profile = slowed(*find_hardware_profile(name), 2.5);
    EXPECT_EQ(parse_cost_file(to_json(profile), "x"), profile);
  }
}

TEST(CostFile, RatesMayBeIntegersAndTextMayBeIndented) {
  const std::string text = replaced(replaced(h100(), "4.5e+11", "450000000000"), ",", ",\n  ");
  EXPECT_EQ(parse_cost_file(text + "\n", "x"), *find_hardware_profile("h100"));
}

TEST(CostFile, TheOneInTheManualIsTheBuiltInOne) {
  std::ifstream file(AFORE_SOURCE_DIR "/docs/metrics.md");
  const std::string manual((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::string open = "```json\n{\"name\":\"h100\"";
  const std::size_t fence = manual.find(open);
  ASSERT_NE(fence, std::string::npos);
  const std::size_t begin = fence + std::string("```json\n").size();
  const std::string text = manual.substr(begin, manual.find("```", begin) - begin);
  EXPECT_EQ(parse_cost_file(text, "metrics.md"), *find_hardware_profile("h100"));
  EXPECT_EQ(replaced_all(replaced_all(text, "\n ", ""), "\n", ""), h100());
}

TEST(CostFile, Errors) {
  EXPECT_EQ(error_in(""), "h.json: the file is empty");
  EXPECT_EQ(error_in("{"), "h.json: the JSON text ends too early | was it cut off?");
  EXPECT_EQ(error_in("[]"), "h.json: expected an object, found an array");
  EXPECT_EQ(error_in(replaced(h100(), "\"sampling_ns\"", "\"sampling_us\"")),
            "h.json: /sampling_us: unknown key | docs/metrics.md lists the keys of a cost file");
  EXPECT_EQ(error_in(replaced(h100(), ",\"sampling_ns\":20000", "")),
            "h.json: the key sampling_ns is missing | docs/metrics.md has a whole file to start from");
  EXPECT_EQ(error_in(R"({"name":"x","flops_per_s":1e12,"flops_efficiency":0.5,"memory_bytes_per_s":1e12,)"
                     R"("memory_efficiency":0.5,"link_bytes_per_s":1e9,"link_efficiency":0.5,"sampling_ns":1})"),
            "h.json: the keys link_latency_ns, copy_bytes_per_s, copy_latency_ns, ffn_c0_ns, attention_c0_ns, "
            "control_latency_ns, scheduler_ns are missing | docs/metrics.md has a whole file to start from");
  EXPECT_EQ(error_in(replaced(h100(), "}", ",\"ffn_c0_ns\":5000}")), "h.json: /ffn_c0_ns: the key stands twice");
  EXPECT_EQ(error_in(replaced(h100(), "9.89e+14", "0")),
            "h.json: /flops_per_s: a rate must be from 1 to 1e20 per second");
  EXPECT_EQ(error_in(replaced(h100(), "3.35e+12", "-1.5")),
            "h.json: /memory_bytes_per_s: a rate must be from 1 to 1e20 per second");
  EXPECT_EQ(error_in(replaced(h100(), "3.6e+11", "1.1e20")),
            "h.json: /copy_bytes_per_s: a rate must be from 1 to 1e20 per second");
  EXPECT_EQ(error_in(replaced(h100(), "\"copy_latency_ns\":10000", "\"copy_latency_ns\":1000000001")),
            "h.json: /copy_latency_ns: time 1000000001 is above 1000000000");
  EXPECT_EQ(error_in(replaced(h100(), "}", ",\"ffn_c2_ns\":0}")), "h.json: /ffn_c2_ns: time 0 is below 1");
  EXPECT_EQ(error_in(replaced(h100(), "}", ",\"ffn_c1_ns\":1000000001}")),
            "h.json: /ffn_c1_ns: time 1000000001 is above 1000000000");
  EXPECT_EQ(error_in(replaced(h100(), "0.6", "0.0")),
            "h.json: /flops_efficiency: an efficiency must be above 0.001 and at most 1");
  EXPECT_EQ(error_in(replaced(h100(), "0.6", "1.01")),
            "h.json: /flops_efficiency: an efficiency must be above 0.001 and at most 1");
  EXPECT_EQ(error_in(replaced(h100(), "20000", "-1")), "h.json: /sampling_ns: time is negative");
  EXPECT_EQ(error_in(replaced(h100(), "20000", "2.5")), "h.json: /sampling_ns: expected an integer, found 2.5");
  EXPECT_EQ(error_in(replaced(h100(), "\"h100\"", "\"\"")), "h.json: /name: the name is empty");
  EXPECT_EQ(error_in(replaced(h100(), "\"h100\"", "7")), "h.json: /name: expected a string, found an integer");
}

}  // namespace
}  // namespace afore::wire
