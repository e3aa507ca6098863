// TensorRT-LLM's load balancer: what is read, is the same when written and read again.
#include "fuzz.h"
#include "wire/foreign/trtllm.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  wire::MapFile map;
  if (fuzz::refuses([&] { map = wire::parse_trtllm_yaml(fuzz::text_of(data, size), "c.yaml"); })) return 0;
  for (const std::string& line : map.violations)
    FUZZ_CHECK(line.starts_with("c.yaml:") && line.find('\n') == line.npos);
  std::vector<wire::LayerSlots> layers;
  for (const wire::MapFile::Row& row : map.rows) {
    FUZZ_CHECK(row.by_rank.size() == 1 && row.layer >= 0);
    layers.push_back({row.layer, row.by_rank[0]});
  }
  const wire::MapFile again =
      wire::parse_trtllm_yaml(wire::to_trtllm_yaml(map.physical.value_or(0), 0, layers), "again.yaml");
  FUZZ_CHECK(again.rows.size() == map.rows.size());
  for (std::size_t i = 0; i < map.rows.size(); ++i)
    FUZZ_CHECK(again.rows[i].layer == map.rows[i].layer && again.rows[i].by_rank == map.rows[i].by_rank);
  return 0;
}
