// The pickle of a file of torch.save, with three storages beside it: read as data, every tensor within its storage,
// what SGLang writes in its shape.
#include <algorithm>

#include "sglang_fuzz.h"

namespace afore {
namespace {

constexpr std::size_t kStorageBytes = 288;  // 3 x 6 x 2 numbers of 8 bytes

wire::TorchFile open(const std::uint8_t* data, std::size_t size) {
  std::vector<std::uint8_t> counts(kStorageBytes);
  for (std::size_t i = 0; i < counts.size(); i += 4) counts[i] = static_cast<std::uint8_t>(i / 4 % 6);
  wire::TorchFile::Storages storages = {{"0", counts}, {"1", counts}, {"2", counts}};
  return {{data, data + size}, std::move(storages), false, "dump.pt"};
}

// All values by their first way from the root, and the numbers of the tensors among them.
void visit(wire::TorchFile& file, const wire::PickleView& view, int depth) {
  FUZZ_CHECK(depth <= wire::kMaxPickleDepth + 1);
  if (view.type() == wire::PickleType::tensor) {
    fuzz::refuses([&] {
      const wire::IntegerTensor tensor = file.integers(view);
      std::size_t count = 1;
      for (const std::int64_t extent : tensor.shape) count *= static_cast<std::size_t>(extent);
      FUZZ_CHECK(std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end()
                     ? tensor.values.empty()
                     : count == tensor.values.size());
    });
  } else if (view.type() == wire::PickleType::list || view.type() == wire::PickleType::tuple) {
    // The first two: values may be shared, and all ways to them more than can be gone.
    for (std::size_t i = 0; i < std::min<std::size_t>(view.size(), depth < 8 ? 2 : 1); ++i)
      visit(file, view.item(i), depth + 1);
  } else if (view.type() == wire::PickleType::dict) {
    fuzz::refuses([&] {
      for (const std::string_view key : view.keys()) FUZZ_CHECK(key.data() != nullptr);
      if (depth < 4)
        for (const std::string_view key : view.keys()) visit(file, view.at(key), depth + 1);
    });
  }
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  fuzz::refuses([&] {
    wire::TorchFile file = open(data, size);
    fuzz::refuses([&] { fuzz::check(wire::read_sglang(file)); });
    visit(file, file.root(), 1);
  });
  return 0;
}
