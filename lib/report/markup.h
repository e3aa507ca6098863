#pragma once
// Text and numbers as SVG and HTML take them.
#include <string>
#include <string_view>

namespace afore::report {

// For element content and quoted attributes, of XML 1.0 and HTML: & < > " ' escaped; what neither may hold (control
// characters, bytes that are not UTF-8, U+FFFE, U+FFFF) becomes U+FFFD.
std::string escape(std::string_view text);

// At most `width` characters, the last one an ellipsis where something was cut. Not escaped.
std::string shorten(std::string_view text, std::size_t width);

// Characters of UTF-8 text.
std::size_t text_width(std::string_view text);

// A coordinate: one decimal, without a trailing ".0".
void append_coordinate(std::string& out, double value);
std::string coordinate(double value);

}  // namespace afore::report
