// CSV tables: every accepted one has full rows, its numbers are finite or refused by name, and a table of the same
// cells, all of them quoted, reads as the same.
#include <cmath>
#include <vector>

#include "fuzz.h"
#include "wire/csv.h"

namespace afore {
namespace {

void append_row(std::string& text, const std::vector<std::string_view>& cells) {
  for (std::size_t i = 0; i < cells.size(); ++i) {
    text += i == 0 ? "\"" : ",\"";
    for (const char c : cells[i]) text.append(c == '"' ? 2 : 1, c);
    text += '"';
  }
  text += '\n';
}

std::vector<std::string_view> row_of(const wire::CsvTable& table, std::size_t row) {
  std::vector<std::string_view> cells;
  for (std::size_t c = 0; c < table.columns().size(); ++c) cells.push_back(table.text(row, c));
  return cells;
}

// One cell per table: a refusal costs more than all the rest, and the fuzzer has many tables.
void check_cell(const wire::CsvTable& table, std::size_t at) {
  const std::size_t row = at / table.columns().size() % table.rows(), column = at % table.columns().size();
  const std::string_view cell = table.text(row, column);
  if (cell.empty()) return;
  fuzz::refuses([&] {
    if (at % 2 == 0) FUZZ_CHECK(std::isfinite(table.number(row, column)));
    const std::int64_t value = table.integer(row, column, -5, 1'000'000);
    FUZZ_CHECK(value >= -5 && value <= 1'000'000);
  });
}

}  // namespace
}  // namespace afore

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace afore;
  fuzz::refuses([&] {
    const wire::CsvTable table({data, data + size}, "table.csv");
    for (const std::string_view name : table.columns()) FUZZ_CHECK(table.columns()[table.column(name)] == name);
    if (table.rows() > 0) check_cell(table, size);
    else fuzz::refuses([&] { table.column("no such column"); });
    std::string quoted;
    append_row(quoted, table.columns());
    for (std::size_t row = 0; row < table.rows(); ++row) append_row(quoted, row_of(table, row));
    const wire::CsvTable again({quoted.begin(), quoted.end()}, "quoted.csv");
    FUZZ_CHECK(again.columns() == table.columns() && again.rows() == table.rows());
    for (std::size_t row = 0; row < table.rows(); ++row) FUZZ_CHECK(row_of(again, row) == row_of(table, row));
  });
  return 0;
}
