#pragma once
// Layers x experts: how much of a layer's work each expert had.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "report/canvas.h"
#include "report/table.h"

namespace afore::report {

struct ExpertLoads {
  std::map<int, std::vector<std::int64_t>> layers;  // assignments by expert, of each absolute layer index
};

// Colour is load over the layer's mean, d_e * E / sum(d): 1 is even. Steps of the ramp are fixed factors, so that two
// pictures compare. More experts than fit are drawn in groups, by the hottest of each. `loads` has at least one layer.
Canvas heatmap(const ExpertLoads& loads, const std::string& subtitle);
Table heatmap_data(const ExpertLoads& loads);     // layer, expert, assignments, load over mean
Table heatmap_figures(const ExpertLoads& loads);  // a row per layer, for reading

}  // namespace afore::report
