#pragma once
// Comma-separated tables with a header line (RFC 4180: quoted cells, doubled quotes; CR LF or LF; the last line may
// lack its end). Strict: every row has as many cells as the header, column names are unique, text is UTF-8 without NUL.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace afore::wire {

inline constexpr std::size_t kMaxCsvBytes = 256u << 20;

class CsvTable {
 public:
  // Owns the bytes. Error{data} with "NAME:LINE: fact" for a table that is not one.
  CsvTable(std::vector<std::uint8_t> bytes, std::string name);
  CsvTable(const CsvTable&) = delete;
  CsvTable& operator=(const CsvTable&) = delete;

  const std::string& name() const { return name_; }
  const std::vector<std::string_view>& columns() const { return columns_; }
  bool has(std::string_view column) const { return find(column) != columns_.size(); }
  std::size_t column(std::string_view name) const;  // Error{data} naming the columns there are
  std::size_t rows() const { return line_of_row_.size(); }
  std::int64_t line(std::size_t row) const { return line_of_row_[row]; }  // in the file, from 1

  std::string_view text(std::size_t row, std::size_t column) const { return cells_[row * columns_.size() + column]; }
  // Error{data} naming line, column and what is there.
  double number(std::size_t row, std::size_t column) const;  // finite
  std::int64_t integer(std::size_t row, std::size_t column, std::int64_t min, std::int64_t max) const;
  [[noreturn]] void fail(std::size_t row, std::size_t column, const std::string& fact,
                         const std::string& hint = "") const;

 private:
  std::size_t find(std::string_view column) const;
  void check_text() const;
  void parse();
  [[noreturn]] void fail_line(std::int64_t line, const std::string& fact, const std::string& hint = "") const;

  std::string bytes_;  // unquoted in place, so that cells are views into it
  std::string name_;
  std::vector<std::string_view> columns_, cells_;  // cells row-major
  std::vector<std::int64_t> line_of_row_;
};

}  // namespace afore::wire
