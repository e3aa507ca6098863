#include "report/canvas.h"

#include <fmt/format.h>

#include "report/markup.h"
#include "report/theme.h"
#include "util/fmath.h"

namespace afore::report {
namespace {

constexpr double kCharacter = 6.4;  // px, of 12px text: wider than the mean, so that estimates err to the safe side

}  // namespace

Canvas::Canvas(double width, std::string_view title, std::string_view subtitle)
    : width_(width), title_(title), subtitle_(subtitle) {
  text(12, 21, title, Anchor::start, "title");
  if (!subtitle.empty())
    text(12, 38, shorten(subtitle, static_cast<std::size_t>((width - 24) / 5.9)), Anchor::start, "soft");
}

void Canvas::rect(double x, double y, double width, double height, std::string_view classes, std::string_view tip) {
  body_ += fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" class=\"{}\"", coordinate(x), coordinate(y),
                       coordinate(width), coordinate(height), classes);
  if (tip.empty()) body_ += "/>\n";
  else body_ += fmt::format("><title>{}</title></rect>\n", escape(tip));
}

void Canvas::line(double x1, double y1, double x2, double y2, std::string_view classes) {
  body_ += fmt::format("<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" class=\"{}\"/>\n", coordinate(x1), coordinate(y1),
                       coordinate(x2), coordinate(y2), classes);
}

void Canvas::dot(double x, double y, double radius, std::string_view classes) {
  body_ += fmt::format("<circle cx=\"{}\" cy=\"{}\" r=\"{}\" class=\"{}\"/>\n", coordinate(x), coordinate(y),
                       coordinate(radius), classes);
}

void Canvas::text(double x, double y, std::string_view text, Anchor anchor, std::string_view classes) {
  body_ += fmt::format("<text x=\"{}\" y=\"{}\"", coordinate(x), coordinate(y));
  if (anchor != Anchor::start) body_ += anchor == Anchor::end ? " text-anchor=\"end\"" : " text-anchor=\"middle\"";
  if (!classes.empty()) body_ += fmt::format(" class=\"{}\"", classes);
  body_ += fmt::format(">{}</text>\n", escape(text));
}

void Canvas::upward_text(double x, double y, std::string_view text, std::string_view classes) {
  body_ +=
      fmt::format("<text transform=\"translate({} {})rotate(-90)\" text-anchor=\"middle\" class=\"{}\">{}</text>\n",
                  coordinate(x), coordinate(y), classes, escape(text));
}

void Canvas::path(std::string_view data, std::string_view classes, std::string_view more) {
  body_ += "<path";
  if (!classes.empty()) body_ += fmt::format(" class=\"{}\"", classes);
  if (!more.empty()) body_ += fmt::format(" {}", more);
  body_ += fmt::format(" d=\"{}\"/>\n", data);
}

void Canvas::open(std::string_view attributes) { body_ += fmt::format("<g {}>\n", attributes); }
void Canvas::close() { body_ += "</g>\n"; }

std::string Canvas::element(std::string_view attributes, std::string_view inside) const {
  return fmt::format(
      "<svg {}viewBox=\"0 0 {} {}\" width=\"{}\" height=\"{}\" class=\"afore\" role=\"img\">\n<title>{}</title>\n"
      "<desc>{}</desc>\n{}{}</svg>\n",
      attributes, coordinate(width_), coordinate(height_), coordinate(width_), coordinate(height_), escape(title_),
      escape(subtitle_), inside, body_);
}

std::string Canvas::standalone() const {
  const std::string ground =
      fmt::format("<rect width=\"{}\" height=\"{}\" class=\"paper\"/>\n", coordinate(width_), coordinate(height_));
  return element("xmlns=\"http://www.w3.org/2000/svg\" ", "<style>\n" + theme_css() + "</style>\n" + ground);
}

std::string Canvas::embedded() const { return element("", ""); }

double Scale::at(double value) const {
  const double part = logarithmic ? fmath::log(value / lo) / fmath::log(hi / lo) : (value - lo) / (hi - lo);
  return from_px + part * (to_px - from_px);
}

void draw_x_axis(Canvas& canvas, const Scale& x, const Scale& y, const Ticks& ticks, std::string_view label) {
  for (const double value : ticks.values) {
    const double at = x.at(value);
    canvas.line(at, y.to_px, at, y.from_px, "grid");
    // Along powers of ten each has decimals of its own.
    const std::string text = !x.logarithmic ? fixed(value, ticks.decimals)
                             : value < 1    ? fmt::format("{:g}", value)
                                            : fixed(value, 0);
    canvas.text(at, y.from_px + 16, text, Anchor::middle, "soft small");
  }
  canvas.line(x.from_px, y.from_px, x.to_px, y.from_px, "axis");
  canvas.text((x.from_px + x.to_px) / 2, y.from_px + 33, label, Anchor::middle, "soft");
}

void draw_y_axis(Canvas& canvas, const Scale& x, const Scale& y, const Ticks& ticks, std::string_view label) {
  for (const double value : ticks.values) {
    const double at = y.at(value);
    canvas.line(x.from_px, at, x.to_px, at, "grid");
    canvas.text(x.from_px - 6, at + 4, fixed(value, ticks.decimals), Anchor::end, "soft small");
  }
  if (!label.empty()) canvas.upward_text(18, (y.from_px + y.to_px) / 2, label, "soft");
}

double draw_keys(Canvas& canvas, double x, double y, double right, const std::vector<Key>& keys) {
  double at = x;
  for (const Key& key : keys) {
    const double width = 20 + kCharacter * static_cast<double>(text_width(key.text)) + 16;
    if (at > x && at + width - 16 > right) {
      at = x;
      y += 18;
    }
    if (key.line) canvas.line(at, y - 4, at + 14, y - 4, key.classes);
    else canvas.rect(at, y - 10, 12, 12, key.classes);
    canvas.text(at + 20, y, key.text);
    at += width;
  }
  return y + 18;
}

}  // namespace afore::report
