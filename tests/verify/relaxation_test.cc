// What a plan says of the bound by its linear program.
#include <gtest/gtest.h>

#include <optional>

#include "streams.h"

namespace afore::verify {
namespace {

TEST(Relaxation, IsNotAboveWhatItsPlanReached) {
  const auto of = [](const std::string& policy, Objective objective, Nanos bound, const std::string& message,
                     const std::string& source = "prefetch", std::optional<Nanos> predicted = std::nullopt) {
    Stream stream = copy_stream(objective);
    std::get<Header>(stream.at(0)).planner->policy = policy;
    for (const std::size_t i : {2, 5}) {
      std::get<Plan>(stream.at(i)).policy = policy;
      std::get<Plan>(stream.at(i)).demand_source = source;
    }
    std::get<Header>(stream.at(0)).planner->demand_source = source;
    Plan& plan = std::get<Plan>(stream.at(2));
    plan.relaxation_bound_ns = bound;
    plan.predicted_ffn_ns = predicted;
    EXPECT_EQ(verdict(stream),
              message.empty() ? "" : "step 17 layer 3 microbatch 0: relaxation_bound_ns is " + message);
  };
  const Objective time = Objective::time;
  of("director", time, 420, "");
  of("director", time, 421, "421, above ffn_ns 420");
  of("director", time, 500, "", "prediction", 500);
  of("director", time, 501, "501, above predicted_ffn_ns 500", "prediction", 500);
  of("director", time, 400, "400, without a predicted_ffn_ns", "prediction");
  of("afore", time, 400, "400, expected none of policy afore by time");
  of("director", Objective::tiles, 400, "400, expected none of policy director by tiles");
}

}  // namespace
}  // namespace afore::verify
