// safetensors: what is accepted covers the data of the file once, in tensors whose sizes fit; their values are read as
// finite, or refused.
#include <bit>
#include <cmath>
#include <span>
#include <vector>

#include "fuzz.h"
#include "nn/checkpoint.h"
#include "nn/safetensors.h"

namespace afore {
namespace {

void read_values(const nn::Tensor& tensor) {
  const auto count = static_cast<std::size_t>(tensor.count());
  FUZZ_CHECK(count * (tensor.dtype == nn::Dtype::f32 ? 4 : 2) == tensor.bytes.size());
  std::vector<float> wide(count);
  std::vector<std::uint16_t> narrow(count);
  if (fuzz::refuses([&] { nn::read_f32(tensor, 0, wide); })) return;
  for (const float value : wide) FUZZ_CHECK(std::isfinite(value));
  if (fuzz::refuses([&] { nn::read_bf16(tensor, 0, narrow); })) return;
  for (std::size_t i = 0; i < count; ++i) {
    const float rounded = std::bit_cast<float>(static_cast<std::uint32_t>(narrow[i]) << 16);
    // Half a place of bf16, which has 8 bits, or of its smallest value.
    FUZZ_CHECK(std::isfinite(rounded) && std::abs(rounded - wide[i]) <= std::max(std::abs(wide[i]) / 256, 0x1p-134f));
  }
}

void check_file(std::span<const std::byte> file) {
  std::uint64_t covered = file.size();
  bool first = true;
  for (const nn::SafetensorsEntry& entry : nn::read_safetensors_header(file, "model.safetensors")) {
    FUZZ_CHECK(first || entry.begin == covered);
    first = false;
    FUZZ_CHECK(entry.begin >= 10 && entry.begin <= entry.end && entry.end <= file.size());
    covered = entry.end;
    nn::Tensor tensor{entry.name, "model.safetensors", nn::Dtype::f32, entry.shape,
                      file.subspan(entry.begin, entry.end - entry.begin)};
    if (entry.dtype == "BF16") tensor.dtype = nn::Dtype::bf16;
    else if (entry.dtype == "F16") tensor.dtype = nn::Dtype::f16;
    else if (entry.dtype != "F32") continue;
    read_values(tensor);
  }
  FUZZ_CHECK(covered == file.size());
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  afore::fuzz::refuses([&] { afore::check_file(std::as_bytes(std::span(data, size))); });
  return 0;
}
