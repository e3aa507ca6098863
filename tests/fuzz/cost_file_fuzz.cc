// Cost files: what is read can be written and read again, and its arithmetic stays in range.
#include "core/cost_model.h"
#include "fuzz.h"
#include "wire/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  HardwareProfile profile;
  if (fuzz::refuses([&] { profile = wire::parse_cost_file(fuzz::text_of(data, size), "cost.json"); })) return 0;
  const std::string written = wire::to_json(profile);
  FUZZ_CHECK(wire::to_json(wire::parse_cost_file(written, "written")) == written);
  return 0;
}
