#pragma once
// The forms of measured tables, one reader each: they append to `out.rows`, whose name, form and device are set.
#include <initializer_list>
#include <string>
#include <string_view>

#include "core/measured.h"
#include "wire/csv.h"

namespace afore::wire {

void read_deepep_moe(const CsvTable& table, MeasuredTable& out);    // generation, context
void read_fused_moe(const CsvTable& table, MeasuredTable& out);     // fused
void read_nccl(const CsvTable& table, MeasuredTable& out);          // nccl
void read_deepep_links(const CsvTable& table, MeasuredTable& out);  // deepep: two rows each, dispatch and combine

inline constexpr double kUs = 1e3, kMs = 1e6;  // in nanoseconds

// A time above 0 in nanoseconds; `unit_ns` is the table's unit. Error{data} otherwise.
double time_at(const CsvTable& table, std::size_t row, std::size_t column, double unit_ns);

// Which columns were chosen by the one who measured: all but those with one of the prefixes.
class KeyColumns {
 public:
  KeyColumns(const CsvTable& table, std::initializer_list<std::string_view> measured_prefixes);
  // Cells of these columns joined by '|', without column `skip` where it is one of them.
  std::string key(std::size_t row, std::size_t skip) const;

 private:
  const CsvTable& table_;
  std::vector<std::size_t> columns_;
};
inline constexpr std::size_t kNoColumn = static_cast<std::size_t>(-1);

}  // namespace afore::wire
