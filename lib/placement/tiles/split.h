#pragma once
// Exact min-max split of whole tiles over the replicas of a flow: loads above a limit leave by residual paths, and
// where none is left the workers reached are a cut S that forbids the limit: no split is below ceil(D(S)/|S|).
#include <vector>

#include "placement/tiles/flow.h"

namespace afore::placement::tiles {

// Lowers all loads to the least largest load, which it returns; `floor` is a valid lower bound on it. From whatever
// work the flow holds. `cut`, ascending, proves the result where `floor` does not; else it is empty. `at_floor`, where
// given and `floor` is not reached, gets the work when no load above it could be lowered any more.
Tiles split(Flow& flow, Tiles floor, std::vector<int>& cut, Flow::Saved* at_floor = nullptr);

// Lowers what is above `limit` as far as it goes; true: all of it. What is left is above in workers that are closed().
bool lower_to(Flow& flow, Tiles limit);

// Whether all loads get to `limit` or below; the flow is left as far as it came, and where false reached() is closed.
bool split_within(Flow& flow, Tiles limit);

// Gives up parts that fit beside another part of their expert under `limit`: fewer activated experts, no more load.
void merge_parts(Flow& flow, Tiles limit);

}  // namespace afore::placement::tiles
