// Maps from a stream: only those on which every expert stands.
#include "pipeline/placement_record.h"

#include "fixtures.h"

namespace afore::pipeline {
namespace {

std::string refusal(PlacementRecord record) {
  return error_of([&] { placement_from(record, 2, 2); }, ErrorKind::data);
}

TEST(PlacementRecord, TakesWhatFits) {
  const LayerPlacement placement = placement_from({3, 2, {0, 1, 1, -1}}, 2, 2);
  EXPECT_EQ(placement.slots_per_worker(), 2);
  EXPECT_EQ(placement.expert_at(0, 1), 1);
  EXPECT_EQ(placement.primary(1), 1);
}

TEST(PlacementRecord, RefusesWhatDoesNot) {
  const std::string place = "the placement of layer 3 cannot stand: ";
  EXPECT_EQ(refusal({3, 2, {0, 1, 0}}), place + "it has 3 slots, not 2 workers x 2");
  EXPECT_EQ(refusal({3, 0, {}}), place + "it has 0 slots, not 2 workers x 0");
  EXPECT_EQ(refusal({3, 1, {0, 2}}), place + "it names expert 2 of 2");
  EXPECT_EQ(refusal({3, 1, {0, -2}}), place + "it names expert -2 of 2");
  EXPECT_EQ(refusal({3, 2, {0, -1, 0, -1}}), place + "expert 1 is on no worker");
}

}  // namespace
}  // namespace afore::pipeline
