// TensorRT-LLM's statistics: a line of meta_info.json, then two files of a rank each, the first of as many bytes as the
// two before it say. What is read is ascending, complete, and the sum of the two.
#include <algorithm>
#include <numeric>

#include "fuzz.h"
#include "wire/foreign/trtllm.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  const std::string_view input = fuzz::text_of(data, size);
  const std::size_t line = input.find('\n');
  if (line == input.npos || input.size() - line < 3) return 0;
  const std::uint8_t* files = data + line + 3;
  const std::size_t left = size - line - 3;
  const std::size_t first = std::min<std::size_t>(left, files[-2] | files[-1] << 8);
  std::vector<wire::NamedBytes> ranks = {{"rank0.safetensors", {files, files + first}}};
  if (left > first) ranks.push_back({"rank1.safetensors", {files + first, files + left}});
  wire::CountsFile sum;
  if (fuzz::refuses([&] { sum = wire::read_trtllm_statistics(input.substr(0, line), "meta_info.json", ranks); }))
    return 0;
  FUZZ_CHECK(sum.steps > 0 && sum.rows > 0 && sum.cells > 0);
  FUZZ_CHECK(static_cast<std::int64_t>(sum.counts.size()) == sum.steps * sum.rows * sum.cells);
  FUZZ_CHECK(std::is_sorted(sum.layers.begin(), sum.layers.end()) &&
             std::is_sorted(sum.step_ids.begin(), sum.step_ids.end()));
  std::int64_t one_by_one = 0;
  for (const wire::NamedBytes& rank : ranks) {
    const wire::CountsFile part = wire::read_trtllm_statistics(input.substr(0, line), "meta_info.json", {&rank, 1});
    FUZZ_CHECK(part.layers == sum.layers && part.step_ids == sum.step_ids);
    one_by_one += std::accumulate(part.counts.begin(), part.counts.end(), std::int64_t{0});
  }
  FUZZ_CHECK(one_by_one == std::accumulate(sum.counts.begin(), sum.counts.end(), std::int64_t{0}));
  return 0;
}
