#include "wire/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "util/error.h"
#include "wire/json_tree.h"
#include "wire/json_writer.h"

namespace afore::wire {
namespace {

// One cell after the other over `text`. Quotes are removed in place, which only ever shortens a cell.
class CellScanner {
 public:
  explicit CellScanner(std::string& text) : text_(text) {}

  bool at_end() const { return at_ == text_.size(); }
  std::int64_t line() const { return line_; }
  bool row_ended() const { return row_ended_; }  // by the cell last read

  // "" when the cell is well-formed, else what is wrong.
  const char* next(std::string_view& cell) {
    row_ended_ = false;
    const bool quoted = at_ < text_.size() && text_[at_] == '"';
    const char* fault = quoted ? read_quoted(cell) : read_plain(cell);
    if (*fault != '\0') return fault;
    if (at_end()) row_ended_ = true;
    else if (text_[at_] == ',') ++at_, row_ended_ = false;
    else end_row();
    return "";
  }

 private:
  const char* read_plain(std::string_view& cell) {
    const std::size_t begin = at_;
    while (!at_end() && text_[at_] != ',' && text_[at_] != '\n') {
      if (text_[at_] == '"') return "a quote inside an unquoted cell";
      ++at_;
    }
    std::size_t end = at_;
    const bool last_of_line = at_end() || text_[at_] == '\n';
    if (last_of_line && end > begin && text_[end - 1] == '\r') --end;
    cell = std::string_view(text_).substr(begin, end - begin);
    return "";
  }

  const char* read_quoted(std::string_view& cell) {
    const std::size_t begin = ++at_;
    std::size_t out = begin;
    for (;; ++at_) {
      if (at_end()) return "a quoted cell is cut off";
      if (text_[at_] == '"') {
        if (at_ + 1 == text_.size() || text_[at_ + 1] != '"') break;
        ++at_;
      }
      line_ += text_[at_] == '\n' ? 1 : 0;
      text_[out++] = text_[at_];
    }
    ++at_;
    cell = std::string_view(text_).substr(begin, out - begin);
    if (!at_end() && text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n') ++at_;
    if (!at_end() && text_[at_] != ',' && text_[at_] != '\n') return "text behind a closing quote";
    return "";
  }

  void end_row() {
    ++at_;
    ++line_;
    row_ended_ = true;
  }

  std::string& text_;
  std::size_t at_ = 0;
  std::int64_t line_ = 1;
  bool row_ended_ = false;
};

}  // namespace

CsvTable::CsvTable(std::vector<std::uint8_t> bytes, std::string name)
    : bytes_(bytes.begin(), bytes.end()), name_(std::move(name)) {
  parse();
}

void CsvTable::fail_line(std::int64_t line, const std::string& fact, const std::string& hint) const {
  throw Error(ErrorKind::data, name_ + ":" + std::to_string(line) + ": " + fact, hint);
}

void CsvTable::fail(std::size_t row, std::size_t column, const std::string& fact, const std::string& hint) const {
  // Plain names as they are, others with their control characters and quotes escaped: messages are one line.
  const std::string name = in_quotes(columns_[column]);
  fail_line(line_of_row_[row], name.substr(1, name.size() - 2) + ": " + fact, hint);
}

void CsvTable::check_text() const {
  if (bytes_.find('\0') != std::string::npos) throw Error(ErrorKind::data, name_ + ": not a text file: it has NULs");
  std::int64_t line = 1;
  for (std::string_view rest = bytes_; !rest.empty();) {
    const std::size_t size = utf8_length(rest);
    if (size == 0) fail_line(line, "the text is not UTF-8", "save the table as UTF-8");
    line += rest.front() == '\n' ? 1 : 0;
    rest.remove_prefix(size);
  }
}

void CsvTable::parse() {
  check_text();
  CellScanner scanner(bytes_);
  std::string_view cell;
  for (std::int64_t row = 0; !scanner.at_end(); ++row) {
    const std::int64_t line = scanner.line();
    std::vector<std::string_view>& out = row == 0 ? columns_ : cells_;
    const std::size_t before = out.size();
    do {
      const char* fault = scanner.next(cell);
      if (*fault != '\0') fail_line(scanner.line(), fault);
      out.push_back(cell);
    } while (!scanner.row_ended());
    if (row == 0) continue;
    const std::size_t got = out.size() - before;
    if (got != columns_.size())
      fail_line(line,
                std::to_string(got) + " cells, where the header has " + std::to_string(columns_.size()) + " columns",
                "was the file cut off?");
    line_of_row_.push_back(line);
  }
  if (columns_.empty()) throw Error(ErrorKind::data, name_ + ": the table is empty", "a header line is expected");
  std::vector<std::string_view> sorted = columns_;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) fail_line(1, "the column " + in_quotes(*twice) + " occurs twice");
}

std::size_t CsvTable::find(std::string_view column) const {
  return static_cast<std::size_t>(std::find(columns_.begin(), columns_.end(), column) - columns_.begin());
}

std::size_t CsvTable::column(std::string_view name) const {
  const std::size_t at = find(name);
  if (at < columns_.size()) return at;
  std::string have;
  for (const std::string_view c : columns_) have += (have.empty() ? "" : ", ") + in_quotes(c);
  fail_line(1, "no column " + in_quotes(name), "it has " + have);
}

double CsvTable::number(std::size_t row, std::size_t column) const {
  const std::string_view cell = text(row, column);
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size() || !std::isfinite(value))
    fail(row, column, in_quotes(cell) + " is not a finite number");
  return value;
}

std::int64_t CsvTable::integer(std::size_t row, std::size_t column, std::int64_t min, std::int64_t max) const {
  const std::string_view cell = text(row, column);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc{} || end != cell.data() + cell.size())
    fail(row, column, in_quotes(cell) + " is not an integer");
  if (value < min || value > max)
    fail(row, column, std::to_string(value) + " is not between " + std::to_string(min) + " and " + std::to_string(max));
  return value;
}

}  // namespace afore::wire
