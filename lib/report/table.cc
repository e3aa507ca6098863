#include "report/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/markup.h"
#include "util/error.h"

namespace afore::report {
namespace {

std::size_t width_of(const std::string& text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

std::string clean(std::string text) {
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c == '\t' || c == '\n' || c == '\r'; }, ' ');
  return text;
}

}  // namespace

void Table::add_row(std::vector<std::string> cells) {
  AFORE_CHECK(cells.size() == columns_.size(), "a row needs one cell per column");
  rows_.push_back(std::move(cells));
}

std::string Table::aligned() const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    widths.push_back(width_of(columns_[c].title));
    for (const auto& row : rows_) widths[c] = std::max(widths[c], width_of(row[c]));
  }
  std::string out;
  const auto add_line = [&](auto&& cell) {
    std::string line;
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const std::string& text = cell(c);
      const std::string pad(widths[c] - width_of(text), ' ');
      if (c > 0) line += "  ";
      line += columns_[c].align == Align::left ? text + pad : pad + text;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_line([&](std::size_t c) -> const std::string& { return columns_[c].title; });
  for (std::size_t r = 0; r < rows_.size(); ++r) {
    if (std::find(rules_.begin(), rules_.end(), r) != rules_.end()) {
      std::size_t total = 2 * (columns_.size() - 1);
      for (const std::size_t w : widths) total += w;
      out += std::string(total, '-') + '\n';
    }
    add_line([&](std::size_t c) -> const std::string& { return rows_[r][c]; });
  }
  return out;
}

std::string Table::tsv() const {
  std::string out;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (c > 0) out += '\t';
    out += clean(columns_[c].title);
  }
  out += '\n';
  for (const auto& row : rows_) {
    for (std::size_t c = 0; c < row.size(); ++c) {
      if (c > 0) out += '\t';
      out += clean(row[c]);
    }
    out += '\n';
  }
  return out;
}

std::string Table::html() const {
  const auto add_row = [&](std::string& out, const char* element, auto&& cell) {
    out += "<tr>";
    for (std::size_t c = 0; c < columns_.size(); ++c) {
      const char* const more = columns_[c].align == Align::left ? " class=\"left\"" : "";
      out += fmt::format("<{}{}>{}</{}>", element, more, escape(cell(c)), element);
    }
    out += "</tr>\n";
  };
  std::string out = "<table>\n<thead>";
  add_row(out, "th", [&](std::size_t c) -> const std::string& { return columns_[c].title; });
  out += "</thead>\n<tbody>\n";
  for (const auto& row : rows_) add_row(out, "td", [&](std::size_t c) -> const std::string& { return row[c]; });
  return out + "</tbody>\n</table>\n";
}

}  // namespace afore::report
