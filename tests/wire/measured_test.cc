#include "wire/measured.h"

#include "wire_test_util.h"

namespace afore::wire {
namespace {

MeasuredTable read(const std::string& text, const std::string& name = "t.csv", const std::string& device = "") {
  return read_measured(CsvTable(std::vector<std::uint8_t>(text.begin(), text.end()), name), device);
}
std::string fault(const std::string& text, const std::string& name = "t.csv", const std::string& device = "") {
  return error_of([&] { read(text, name, device); });
}

const std::string kMoeHead =
    "framework,version,device,op_name,kernel_source,moe_dtype,num_tokens,hidden_size,inter_size,topk,num_experts,"
    "moe_tp_size,moe_ep_size,distribution,latency\n";
std::string moe(const std::string& op, const std::string& distribution = "uniform", const std::string& latency = "0.15",
                const std::string& device = "NVIDIA H100 80GB HBM3") {
  return "SGLang,0.5.10," + device + "," + op + ",deepepmoe,fp8_block,512,7168,2048,8,256,1,32," + distribution + "," +
         latency + "\n";
}

TEST(MeasuredTables, DeepEpMoe) {
  const MeasuredTable table = read(kMoeHead + moe("moe_generation", "power_law_1.2", "0.143"));
  EXPECT_EQ(table.device, "h100");
  EXPECT_EQ(table.form, TableForm::generation);
  ASSERT_EQ(table.rows.size(), 1u);
  const MeasuredRow& row = table.rows[0];
  EXPECT_EQ(row.line, 2);
  EXPECT_NEAR(row.time_ns, 143'000, 1e-6);
  EXPECT_EQ(row.load.kind, ExpertLoad::Kind::power_law);
  EXPECT_EQ(row.load.alpha, 1.2);
  EXPECT_EQ(row.load.local_experts, 8);
  EXPECT_EQ(row.weight_bytes, 1);
  EXPECT_EQ(row.group, "h100/generation/fp8_block/7168x2048");
  EXPECT_EQ(row.label, "ep=32 tokens=512 power_law_1.2");
  EXPECT_EQ(read(kMoeHead + moe("moe_context")).form, TableForm::context);
}

// Two sizes of one series share all but the key; nothing measured and no device is in it.
TEST(MeasuredTables, KeysLeaveOutWhatWasMeasured) {
  const MeasuredTable a = read(kMoeHead + moe("moe_generation"));
  const MeasuredTable b = read(kMoeHead + moe("moe_generation", "uniform", "0.19", "H200"));
  EXPECT_EQ(a.rows[0].key, b.rows[0].key);
  const MeasuredTable c = read(kMoeHead + replaced(moe("moe_generation"), ",512,", ",1024,"));
  EXPECT_NE(a.rows[0].key, c.rows[0].key);
  EXPECT_EQ(a.rows[0].series, c.rows[0].series);
}

TEST(MeasuredTables, TimesThatAreNone) {
  for (const std::string time : {"0", "-0.1"})
    EXPECT_EQ(fault(kMoeHead + moe("moe_generation", "uniform", time)),
              "t.csv:2: latency: a measured time must be above 0");
  EXPECT_EQ(fault(kMoeHead + moe("moe_generation", "uniform", "nan")),
            "t.csv:2: latency: \"nan\" is not a finite number");
}

TEST(MeasuredTables, ShapesThatMakeNoSense) {
  EXPECT_EQ(fault(kMoeHead + moe("moe_generation", "power_law_1")),
            "t.csv:2: distribution: \"power_law_1\" is neither uniform nor power_law_A with 0 < A <= 10, A not 1");
  EXPECT_EQ(fault(kMoeHead + replaced(moe("moe_generation"), "1,32,uniform", "1,33,uniform")),
            "t.csv:2: moe_ep_size: does not divide the number of experts");
  EXPECT_EQ(fault(kMoeHead + replaced(moe("moe_generation"), "1,32,uniform", "2,32,uniform")),
            "t.csv:2: moe_tp_size: only tables of whole experts are read");
  EXPECT_EQ(fault(kMoeHead + moe("moe_generation") + moe("moe_context")),
            "t.csv:3: op_name: another operation than in the rows above");
}

TEST(MeasuredTables, OneDevice) {
  const std::string text = kMoeHead + moe("moe_generation");
  const std::string hint = " | one device's times under another's name are worth nothing: find out which it is";
  EXPECT_EQ(read(text, "x/h100_sxm_moe.csv").device, "h100");
  EXPECT_EQ(fault(text, "x/a100_moe.csv"), "x/a100_moe.csv: its device column says h100, its name says a100" + hint);
  EXPECT_EQ(fault(text, "t.csv", "h200"), "t.csv: its device column says h100, --device says h200" + hint);
  EXPECT_EQ(fault(text + moe("moe_generation", "power_law_1.2", "0.2", "NVIDIA H200")),
            "t.csv:3: device: is h200, where the rows above are h100");
  EXPECT_EQ(fault(kMoeHead + moe("moe_generation", "uniform", "0.2", "abacus")),
            "t.csv:2: device: names no GPU that is known | say which with --device");
}

TEST(MeasuredTables, DeviceNames) {
  EXPECT_EQ(device_in("NVIDIA H100 80GB HBM3"), "h100");
  EXPECT_EQ(device_in("a800_qwen3_30b_a3b_moe.csv.zst"), "a800");
  EXPECT_EQ(device_in("h100-against-a100.csv"), "");
  EXPECT_EQ(device_in("moe.csv"), "");
}

TEST(MeasuredTables, Nccl) {
  const std::string head = "framework,version,device,op_name,kernel_source,nccl_dtype,num_gpus,message_size,latency\n";
  const auto row = [](const std::string& op, const std::string& type) {
    return "TRTLLM,2.29.2,NVIDIA H100 80GB HBM3," + op + ",NCCL," + type + ",4,4096,0.01\n";
  };
  const MeasuredTable table =
      read(head + row("all_gather", "int8") + row("all_gather", "half") + row("all_reduce", "half"));
  EXPECT_EQ(table.form, TableForm::nccl);
  EXPECT_EQ(table.rows[0].size, 3072);  // three quarters of 4,096 elements of a byte
  EXPECT_EQ(table.rows[1].size, 6144);
  EXPECT_EQ(table.rows[2].size, 12288);
  EXPECT_EQ(table.rows[0].time_ns, 10'000);
  EXPECT_EQ(table.rows[0].group, "h100/nccl/all_gather/gpus=4");
  EXPECT_EQ(fault(head + row("all_gather", "float")), "t.csv:2: nccl_dtype: neither half nor int8");
}

// 16 tokens to 8 experts each: 128 rows of 2,048 + 64 + 16 bytes out and of 4,096 bytes back.
TEST(MeasuredTables, DeepEpLinks) {
  const MeasuredTable table = read(
      "framework,version,device,op_name,kernel_source,node_num,hidden_size,num_token,num_topk,num_experts,"
      "combine_avg_t_us,combine_bandwidth_gbps,dispatch_avg_t_us,dispatch_bandwidth_gbps\n"
      "sglang,0.5.12,NVIDIA H100 80GB HBM3,ll,deepep,1,2048,16,8,128,12.5,1,11,1\n");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0].size, 128 * 2128);
  EXPECT_EQ(table.rows[0].time_ns, 11'000);
  EXPECT_EQ(table.rows[0].group, "h100/deepep/dispatch/hidden=2048,topk=8,experts=128");
  EXPECT_EQ(table.rows[1].size, 128 * 4096);
  EXPECT_EQ(table.rows[1].time_ns, 12'500);
  EXPECT_NE(table.rows[0].key, table.rows[1].key);
}

const std::string kFusedHead =
    "time_stats.moe_grouped_gemm.median,num_tokens,num_experts,num_experts_per_device,expert_parallel_size,router_topk,"
    "hidden_dim,expert_hidden_dim,num_tensor_parallel_workers,total_routed_tokens,expert_utilization,min_load_ratio,"
    "load_imbalance_cv,max_load_ratio,profiling_precision\n";

TEST(MeasuredTables, FusedMoe) {
  const MeasuredTable table =
      read(kFusedHead + "0.25,16,128,32,4,8,2048,768,2,128,0.75,0.25,0.5,2.0,BF16\n", "a800.csv");
  EXPECT_EQ(table.form, TableForm::fused);
  const MeasuredRow& row = table.rows.at(0);
  EXPECT_EQ(row.group, "a800/fused/BF16/2048x384");  // two TP ranks share the width
  EXPECT_EQ(row.load.activated, 24);
  EXPECT_EQ(row.load.routed, 128);
  EXPECT_EQ(row.load.deviation, 0.5);
  EXPECT_EQ(row.weight_bytes, 2);
  EXPECT_EQ(fault(kFusedHead + "0.25,16,128,32,4,8,2048,768,2,8,0.75,0.25,0.5,2.0,BF16\n", "a800.csv"),
            "a800.csv:2: expert_utilization: is no share of experts that 8 assignments can reach");
}

TEST(MeasuredTables, FormsAndDevicesThatAreNotSaid) {
  EXPECT_EQ(fault("a,b\n1,2\n"),
            "t.csv: no known form of a measured table | docs/metrics.md, \"fitted costs\", has the "
            "columns of each form");
  EXPECT_EQ(fault(kFusedHead + "0.25,16,128,32,4,8,2048,768,2,128,0.75,0.25,0.5,2.0,BF16\n"),
            "t.csv: neither a device column nor the name says what was measured | say it with --device");
  EXPECT_EQ(read(kFusedHead + "0.25,16,128,32,4,8,2048,768,2,128,0.75,0.25,0.5,2.0,BF16\n", "t.csv", "a800").device,
            "a800");
}

}  // namespace
}  // namespace afore::wire
