#pragma once
// stand-in header until merge
#include <cstdint>
#include "pipeline/messages.h"
namespace afore::host {
class SharedRing {
 public:
  struct Taken { pipeline::PlanPtr plan; };
  SharedRing(int plans, int readers);
  bool publish(const pipeline::PublishedPlan&, std::uint64_t epoch);
  Taken take(int reader, std::int64_t serial, std::uint64_t epoch);
  std::uint32_t word(int reader) const;
  void wait(int reader, std::uint32_t seen, Nanos timeout);
  void poke(int reader);
};
}
