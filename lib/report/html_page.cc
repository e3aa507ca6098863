#include "report/html_page.h"

#include <fmt/format.h>

#include "report/markup.h"
#include "report/theme.h"

namespace afore::report {
namespace {

// A wide picture scrolls in its own box on a narrow screen: scaled down to it, its text could not be read.
constexpr const char* kPageCss =
    "body{margin:0 auto;padding:16px;max-width:1000px;background:var(--paper);color:var(--ink);"
    "font:15px/1.45 system-ui,-apple-system,\"Segoe UI\",Roboto,\"Helvetica Neue\",Arial,sans-serif}\n"
    "h1{font-size:22px;line-height:1.25;margin:8px 0 12px;overflow-wrap:anywhere}\n"
    "h2{font-size:17px;margin:32px 0 8px;border-top:1px solid var(--grid);padding-top:16px}\n"
    "nav a{color:inherit;margin-right:14px}\n"
    "dl{display:grid;grid-template-columns:max-content 1fr;gap:2px 14px;margin:12px 0;font-size:13px}\n"
    "dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}\n"
    "figure{margin:0}\n"
    ".wide{overflow-x:auto}\n"
    ".wide svg{display:block;max-width:100%;height:auto;min-width:720px}\n"
    "details{margin:8px 0}summary{cursor:pointer;color:var(--soft)}\n"
    "table{border-collapse:collapse;font-size:13px;font-variant-numeric:tabular-nums;margin:8px 0}\n"
    "th,td{text-align:right;padding:2px 10px;border-bottom:1px solid var(--grid);white-space:nowrap}\n"
    "th{font-weight:600}.left{text-align:left}\n"
    ".missing{color:var(--soft);padding:12px;border:1px dashed var(--axis);overflow-wrap:anywhere}\n"
    "@media print{details,nav{display:none}}\n";

std::string head(const Page& page) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta name=\"color-scheme\" content=\"light dark\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>{}</title>\n<style>\n{}{}{}</style>\n</head>\n",
      escape(page.title), theme_variables(":root"), theme_css(), kPageCss);
}

std::string scrolled(const std::string& name, const std::string& inside) {
  return fmt::format("<div class=\"wide\" role=\"region\" tabindex=\"0\" aria-label=\"{}\">\n{}</div>\n", escape(name),
                     inside);
}

std::string panel_html(const PagePanel& panel) {
  std::string out = fmt::format("<section id=\"{}\">\n<h2>{}</h2>\n", panel.id, escape(panel.name));
  if (panel.svg.empty()) return out + "<p class=\"missing\">" + escape(panel.missing) + "</p>\n</section>\n";
  out += "<figure>\n" + scrolled(panel.name, panel.svg) + "</figure>\n";
  if (!panel.figures.empty())
    out += "<details>\n<summary>In numbers</summary>\n" + scrolled(panel.name + " in numbers", panel.figures.html()) +
           "</details>\n";
  return out + "</section>\n";
}

}  // namespace

std::string html_page(const Page& page) {
  std::string out = head(page) + fmt::format("<body>\n<h1>{}</h1>\n<nav aria-label=\"Pictures\">", escape(page.title));
  for (const PagePanel& panel : page.panels)
    out += fmt::format("<a href=\"#{}\">{}</a>\n", panel.id, escape(panel.name));
  out += "</nav>\n<main>\n<dl>\n";
  for (const auto& [key, value] : page.provenance)
    out += fmt::format("<dt>{}</dt><dd>{}</dd>\n", escape(key), escape(value));
  out += "</dl>\n";
  if (!page.figures.empty()) out += scrolled("Figures", page.figures.html());
  for (const PagePanel& panel : page.panels) out += panel_html(panel);
  return out + "</main>\n</body>\n</html>\n";
}

}  // namespace afore::report
