// Records wait for the end of their step, and keep their order.
#include "host/step_output.h"

#include <gtest/gtest.h>

namespace afore::host {
namespace {

class StepOutputTest : public testing::Test {
 protected:
  StepOutput output;
  std::vector<std::string> out;

  void add(std::int64_t step, const std::string& name) {
    output.add(step, std::nullopt, [this, name](const Batch* batch) {
      EXPECT_EQ(batch, nullptr);
      out.push_back(name);
    });
  }
  void add_batch(std::int64_t step, int microbatch, std::vector<std::string> finished) {
    Batch batch;
    batch.step = step;
    batch.microbatch = microbatch;
    batch.finished = std::move(finished);
    output.add(step, batch, [this](const Batch* final_batch) {
      std::string line = "batch";
      for (const std::string& id : final_batch->finished) line += " " + id;
      out.push_back(line);
    });
  }
};

TEST_F(StepOutputTest, WaitsForAllMicrobatchesOfTheStep) {
  output.begin(4);
  add(4, "a");
  output.begin(4);
  add(4, "b");
  output.release();
  EXPECT_TRUE(out.empty());
  output.end(4, 0, {});
  output.release();
  EXPECT_TRUE(out.empty());
  output.end(4, 1, {});
  output.release();
  EXPECT_EQ(out, (std::vector<std::string>{"a", "b"}));
}

TEST_F(StepOutputTest, EarlyEndsStandInTheirOwnBatch) {
  output.begin(1);
  add_batch(1, 0, {"known"});
  output.begin(1);
  add_batch(1, 1, {});
  output.end(1, 1, {"x", "y"});
  output.end(1, 0, {"z"});
  output.release();
  EXPECT_EQ(out, (std::vector<std::string>{"batch known z", "batch x y"}));
}

TEST_F(StepOutputTest, ALaterStepWaitsForRecordsBeforeIt) {
  output.begin(1);
  add(1, "first");
  output.begin(2);
  add(2, "second");
  output.end(2, 0, {});
  output.release();
  EXPECT_TRUE(out.empty());  // step 2 is over, but step 1 stands before it
  output.end(1, 1, {});
  output.release();
  EXPECT_EQ(out, (std::vector<std::string>{"first", "second"}));
}

TEST_F(StepOutputTest, WhatComesAfterItsStepGoesOutAtOnce) {
  output.begin(1);
  output.end(1, 0, {});
  add(1, "late");
  output.release();
  EXPECT_EQ(out, std::vector<std::string>{"late"});
}

TEST_F(StepOutputTest, TheEndOfTheRunLetsEverythingOut) {
  output.begin(1);
  add_batch(1, 0, {"known"});
  add(1, "a");
  output.release_all();
  EXPECT_EQ(out, (std::vector<std::string>{"batch known", "a"}));
}

}  // namespace
}  // namespace afore::host
