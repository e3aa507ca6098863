#pragma once
// Colours of the pictures, in light and dark.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace afore::report {

// Series are told apart by the classes f0 to f7 (filled), k0 to k7 (stroked): the palette of Okabe and Ito (2008), made
// for all kinds of colour vision, darkened on light ground and lightened on dark where contrast asks for it.
inline constexpr std::size_t kSeriesColors = 8;
inline std::string series_class(char kind, std::size_t series) { return kind + std::to_string(series % kSeriesColors); }

// Rules for all classes the charts use, below elements of class "afore". Colours are CSS variables that follow
// prefers-color-scheme; every use has a plain colour before it, for renderers without variables.
std::string theme_css();

// The variables alone, light and dark, for a page that has rules of its own.
std::string theme_variables(std::string_view selector);

// "#rrggbb" of the cividis ramp (Nunez, Anderton, Renslow, PLoS ONE 13(7), 2018), t in [0, 1] from dark blue to yellow:
// monotone in lightness, and alike for all kinds of colour vision.
std::string cividis(double t);

}  // namespace afore::report
