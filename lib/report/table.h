#pragma once
// Aligned tables, TSV and HTML of the same cells.
#include <string>
#include <vector>

namespace afore::report {

enum class Align { left, right };

class Table {
 public:
  struct Column {
    std::string title;
    Align align = Align::right;
  };
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add_row(std::vector<std::string> cells);        // as many as columns
  void add_rule() { rules_.push_back(rows_.size()); }  // a line before the next row (aligned form only)

  // Columns two spaces apart, widths counted in UTF-8 characters, no trailing blanks, LF after each line.
  std::string aligned() const;
  std::string tsv() const;   // tabs and line ends inside cells become spaces
  std::string html() const;  // a <table>, cells escaped
  bool empty() const { return rows_.empty(); }

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> rules_;
};

}  // namespace afore::report
