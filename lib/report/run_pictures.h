#pragma once
// The views of one run, each as SVG or as a table, and the page with all of them.
#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "report/cdf.h"
#include "report/gantt.h"
#include "report/html_page.h"
#include "report/run_data.h"

namespace afore::report {

enum class View { heatmap, load, gantt, cdf, imbalance };
inline constexpr std::array<View, 5> kViews = {View::heatmap, View::load, View::imbalance, View::cdf, View::gantt};
const char* to_string(View view);

struct LatencyLimits {  // ms, drawn as lines
  std::optional<double> ttft_ms, tpot_ms, itl_ms;
};

struct ViewOptions {
  LatencyLimits limits;
  std::optional<TimeWindow> window;  // of the gantt
};

// TTFT, TPOT, ITL and the step, without series yet.
std::vector<CdfPanel> latency_panels(const LatencyLimits& limits);

// Why the view cannot be drawn: which records are missing, and what writes them. Empty when it can.
std::string missing(const RunData& data, View view);

// Of a view that is not missing.
Canvas picture(const RunData& data, View view, const ViewOptions& options);
Table picture_data(const RunData& data, View view);

std::string run_page(const RunData& data, std::span<const View> views, const ViewOptions& options);

}  // namespace afore::report
