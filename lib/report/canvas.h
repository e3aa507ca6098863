#pragma once
// An SVG drawing as it grows. Coordinates are pixels of its view box, y downwards; classes are those of theme.h.
#include <string>
#include <string_view>

#include "report/ticks.h"

namespace afore::report {

enum class Anchor { start, middle, end };

inline constexpr double kPictureWidth = 960;  // of charts; a page scales them

class Canvas {
 public:
  // The title is drawn at the top, with `subtitle` below it (may be empty); both are read out by screen readers.
  Canvas(double width, std::string_view title, std::string_view subtitle);

  double width() const { return width_; }
  double top() const { return 46; }  // below the titles

  void rect(double x, double y, double width, double height, std::string_view classes, std::string_view tip = {});
  void line(double x1, double y1, double x2, double y2, std::string_view classes);
  void dot(double x, double y, double radius, std::string_view classes);
  void text(double x, double y, std::string_view text, Anchor anchor = Anchor::start, std::string_view classes = {});
  // Turned by a quarter, reading upwards, centred on (x, y).
  void upward_text(double x, double y, std::string_view text, std::string_view classes = {});
  // `data` as SVG has it; `more`: further attributes, escaped by the caller.
  void path(std::string_view data, std::string_view classes, std::string_view more = {});
  void open(std::string_view attributes);  // of a group
  void close();
  void end_at(double height) { height_ = height; }

  std::string standalone() const;  // a file of its own, with its colours
  std::string embedded() const;    // for an HTML page that has theme_css()

 private:
  std::string element(std::string_view attributes, std::string_view inside) const;

  double width_, height_ = 0;
  std::string title_, subtitle_, body_;
};

// Values onto pixels.
struct Scale {
  double lo = 0, hi = 1, from_px = 0, to_px = 1;
  bool logarithmic = false;  // then lo > 0
  double at(double value) const;
};

// Ticks, grid lines through the plot, and the label with its unit. The scales span the plot.
void draw_x_axis(Canvas& canvas, const Scale& x, const Scale& y, const Ticks& ticks, std::string_view label);
void draw_y_axis(Canvas& canvas, const Scale& x, const Scale& y, const Ticks& ticks, std::string_view label);

// Keys in a row from `x` on, wrapped at `right`; returns the y below them.
struct Key {
  std::string text;
  std::string classes;  // of the swatch
  bool line = false;
};
double draw_keys(Canvas& canvas, double x, double y, double right, const std::vector<Key>& keys);

}  // namespace afore::report
