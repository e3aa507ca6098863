// Which work a rank does when, told by hand.
#include "host/compute_units.h"

#include <gtest/gtest.h>

#include <string>

namespace afore::host {
namespace {

using Kind = ComputeTask::Kind;

struct Started final : ComputeUnits::Actions {
  void start(const ComputeTask& task) override {
    const char* names[] = {"attention", "sampling", "experts "};
    order.push_back(names[static_cast<int>(task.kind)] +
                    (task.kind == Kind::experts ? std::to_string(task.serial) : std::string()) + "@" +
                    std::to_string(task.worker));
  }
  std::vector<std::string> order;
};

using Order = std::vector<std::string>;

TEST(ComputeUnits, WorkersWithUnitsOfTheirOwnStartAtOnce) {
  Started started;
  ComputeUnits units(0, started);
  units.ready({Kind::attention, 0, {}, 0});
  units.rows_arrived(0, 0);  // an FFN worker knows for itself whether it has the plan
  units.rows_arrived(0, 1);
  units.plan_taken(0, 1);
  units.done(0);
  EXPECT_EQ(started.order, (Order{"attention@0", "experts 0@0", "experts 1@0"}));
}

TEST(ComputeUnits, ARankDoesWhatWasReadyFirst) {
  Started started;
  ComputeUnits units(2, started);
  units.plan_taken(0, 1);
  units.ready({Kind::attention, 0, {}, 0});
  units.ready({Kind::attention, 1, {}, 0});
  units.rows_arrived(0, 0);
  units.ready({Kind::sampling, 0, {}, 0});
  units.rows_arrived(0, 1);
  EXPECT_EQ(started.order, (Order{"attention@0", "attention@1"})) << "ranks do not wait for each other";
  for (int i = 0; i < 4; ++i) units.done(0);
  EXPECT_EQ(started.order, (Order{"attention@0", "attention@1", "experts 0@0", "sampling@0", "experts 1@0"}));
  EXPECT_ANY_THROW(units.done(0));
}

TEST(ComputeUnits, ExpertsAreReadyWithRowsAndPlan) {
  Started started;
  ComputeUnits units(1, started);
  units.rows_arrived(0, 0);
  units.rows_arrived(0, 1);
  units.ready({Kind::attention, 0, {}, 0});
  EXPECT_EQ(started.order, (Order{"attention@0"})) << "rows without a plan hold nothing up";
  units.plan_taken(0, 0);
  units.done(0);
  EXPECT_EQ(started.order, (Order{"attention@0", "experts 0@0"}));
  units.done(0);
  units.ready({Kind::sampling, 0, {}, 0});
  units.plan_taken(0, 2);
  units.rows_arrived(0, 2);
  units.done(0);
  units.done(0);
  EXPECT_EQ(started.order, (Order{"attention@0", "experts 0@0", "sampling@0", "experts 1@0", "experts 2@0"}));
}

}  // namespace
}  // namespace afore::host
