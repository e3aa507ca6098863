// Files of torch.save: a zip with a pickle and storages. CRCs keep most changes from the pickle; see pickle_fuzz.cc.
#include "sglang_fuzz.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  fuzz::refuses([&] { fuzz::check(wire::parse_sglang_torch({data, data + size}, "dump.pt")); });
  return 0;
}
