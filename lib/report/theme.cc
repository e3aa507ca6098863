#include "report/theme.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>

namespace afore::report {
namespace {

struct Color {
  const char* name;
  const char* light;
  const char* dark;
};

constexpr std::array<Color, kSeriesColors> kSeries = {{{"s0", "#0072b2", "#4ba6e3"},
                                                       {"s1", "#d55e00", "#ff8a3d"},
                                                       {"s2", "#00895f", "#2bc596"},
                                                       {"s3", "#b3589a", "#e59ac9"},
                                                       {"s4", "#c98a00", "#f3bb45"},
                                                       {"s5", "#3f9fd0", "#9ad4f7"},
                                                       {"s6", "#6a51a3", "#b7a3ea"},
                                                       {"s7", "#5a5f66", "#b9bec6"}}};

constexpr std::array<Color, 7> kSurfaces = {{{"paper", "#ffffff", "#14171c"},
                                             {"ink", "#1b1f24", "#e8eaed"},
                                             {"soft", "#57606a", "#a3acb7"},
                                             {"grid", "#e3e6ea", "#2b313a"},
                                             {"axis", "#8c959f", "#6b7480"},
                                             {"void", "#eceff2", "#262c34"},
                                             {"link", "#b4bcc5", "#515b67"}}};

std::string variables(const char* Color::*shade) {
  std::string css;
  for (const Color& color : kSurfaces) css += fmt::format("--{}:{};", color.name, color.*shade);
  for (const Color& color : kSeries) css += fmt::format("--{}:{};", color.name, color.*shade);
  return css;
}

// A plain colour first: a renderer that does not know variables drops the second declaration alone.
std::string rule(const char* of, const char* property, const Color& color) {
  return fmt::format(".afore {}{{{}:{};{}:var(--{})}}\n", of, property, color.light, property, color.name);
}

std::string rules() {
  std::string css;
  const auto surface = [](std::string_view name) {
    return *std::find_if(kSurfaces.begin(), kSurfaces.end(), [&](const Color& c) { return c.name == name; });
  };
  css += rule(".paper", "fill", surface("paper"));
  css += rule(".on", "fill", surface("paper"));
  css += rule("text", "fill", surface("ink"));
  css += rule(".soft", "fill", surface("soft"));
  css += rule(".void", "fill", surface("void"));
  css += rule(".link", "fill", surface("link"));
  css += rule(".grid", "stroke", surface("grid"));
  css += rule(".axis", "stroke", surface("axis"));
  css += rule(".mark", "stroke", surface("ink"));
  for (std::size_t i = 0; i < kSeries.size(); ++i) {
    css += rule(fmt::format(".f{}", i).c_str(), "fill", kSeries[i]);
    css += rule(fmt::format(".k{}", i).c_str(), "stroke", kSeries[i]);
  }
  css +=
      ".afore text{font:12px system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif;"
      "font-variant-numeric:tabular-nums}\n"
      ".afore .title{font-size:15px;font-weight:600}\n"
      ".afore .small{font-size:11px}\n"
      ".afore .tiny{font-size:9px}\n"
      ".afore .bold{font-weight:600}\n"
      ".afore .grid,.afore .axis{stroke-width:1;fill:none;shape-rendering:crispEdges}\n"
      ".afore .line{fill:none;stroke-width:1.75;stroke-linejoin:round}\n"
      ".afore .mark{fill:none;stroke-width:1.25;stroke-dasharray:4 3}\n"
      ".afore .dots{fill:none;stroke-width:1;stroke-dasharray:1 3}\n"
      ".afore .past{opacity:.3}\n"
      ".afore .area{opacity:.25}\n"
      ".afore .cells{fill:none;stroke-width:1;shape-rendering:crispEdges}\n";
  return css;
}

}  // namespace

std::string theme_variables(std::string_view selector) {
  return fmt::format("{}{{{}}}\n@media (prefers-color-scheme:dark){{{}{{{}}}}}\n", selector, variables(&Color::light),
                     selector, variables(&Color::dark));
}

std::string theme_css() { return theme_variables(".afore") + rules(); }

std::string cividis(double t) {
  constexpr std::array<std::uint32_t, 10> kStops = {0x00224e, 0x123570, 0x3b496c, 0x575d6d, 0x707173,
                                                    0x8a8678, 0xa59c74, 0xc3b369, 0xe1cc55, 0xfee838};
  const double at = std::clamp(t, 0.0, 1.0) * (kStops.size() - 1);
  const auto i = std::min<std::size_t>(static_cast<std::size_t>(at), kStops.size() - 2);
  const double part = at - static_cast<double>(i);
  std::string out = "#";
  for (const int shift : {16, 8, 0}) {
    const double a = (kStops[i] >> shift) & 0xff, b = (kStops[i + 1] >> shift) & 0xff;
    fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned>(a + (b - a) * part + 0.5));
  }
  return out;
}

}  // namespace afore::report
