// .npy files: what is read fills its shape, and is the same when written and read again.
#include <span>

#include "fuzz.h"
#include "wire/foreign/npy.h"
#include "wire/foreign/vllm_npy.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  const std::span<const std::uint8_t> bytes(data, size);
  wire::NpyArray array;
  if (fuzz::refuses([&] { array = wire::parse_npy(bytes, "a.npy"); })) return 0;
  FUZZ_CHECK(array.values.size() <= size && array.shape.size() <= 8);
  if (!array.values.empty()) {
    const wire::NpyArray again =
        wire::parse_npy(wire::to_npy(array.values, array.shape, wire::NpyType::int64), "b.npy");
    FUZZ_CHECK(again.shape == array.shape && again.values == array.values);
  }
  fuzz::refuses([&] {
    const wire::CountsFile file = counts_from_npy(bytes, "a.npy", wire::LayerAxis::moe, wire::ExpertIds::physical);
    FUZZ_CHECK(static_cast<std::int64_t>(file.counts.size()) == file.steps * file.rows * file.cells);
  });
  fuzz::refuses([&] { FUZZ_CHECK(!map_from_npy(bytes, "a.npy", wire::LayerAxis::moe).rows.empty()); });
  return 0;
}
