#include "fit/suspects.h"

#include <gtest/gtest.h>

#include "util/error.h"

namespace afore::fit {
namespace {

// Rows of one series with the sizes and times given, on lines 2, 3, ...
MeasuredTable table_of(const std::string& name, const std::string& device,
                       const std::vector<std::pair<double, double>>& size_time) {
  MeasuredTable table;
  table.name = name;
  table.device = device;
  for (const auto& [size, time] : size_time) {
    MeasuredRow row;
    row.line = static_cast<std::int64_t>(table.rows.size()) + 2;
    row.size = size;
    row.time_ns = time;
    row.series = "s|";
    row.key = "s|" + std::to_string(size);
    row.group = device + "/g";
    row.label = "tokens=" + std::to_string(static_cast<int>(size));
    table.rows.push_back(row);
  }
  return table;
}

template <class Act>
std::string data_error(Act&& act) {
  try {
    act();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "no error";
}

TEST(Suspects, TwoTimesForOneExperimentNameBothLines) {
  std::vector<MeasuredTable> tables = {table_of("a.csv", "h100", {{1, 10}, {2, 11}, {1, 12}})};
  EXPECT_EQ(data_error([&] { drop_repeats(tables); }),
            "a.csv:4: the same experiment as a.csv:2 took another time (h100/g, tokens=1)");
}

TEST(Suspects, AcrossFilesOfOneDeviceToo) {
  std::vector<MeasuredTable> tables = {table_of("a.csv", "h100", {{1, 10}}), table_of("b.csv", "h100", {{1, 12}})};
  EXPECT_EQ(data_error([&] { drop_repeats(tables); }),
            "b.csv:2: the same experiment as a.csv:2 took another time (h100/g, tokens=1)");
  std::vector<MeasuredTable> devices = {table_of("a.csv", "h100", {{1, 10}}), table_of("b.csv", "h200", {{1, 12}})};
  EXPECT_EQ(drop_repeats(devices), 0u);
}

TEST(Suspects, RepeatedRowsAreDropped) {
  std::vector<MeasuredTable> tables = {table_of("a.csv", "h100", {{1, 10}, {2, 11}, {1, 10}})};
  EXPECT_EQ(drop_repeats(tables), 1u);
  ASSERT_EQ(tables[0].rows.size(), 2u);
  EXPECT_EQ(tables[0].rows[1].line, 3);
}

TEST(Suspects, OneDevicesTimesUnderAnothersName) {
  const MeasuredTable a = table_of("a100.csv", "a100", {{1, 10}, {2, 11}, {4, 13}});
  const MeasuredTable b = table_of("h100.csv", "h100", {{1, 10}, {2, 11}, {4, 12}});
  EXPECT_EQ(data_error([&] {
              refuse_copies(std::vector{a, b});
            }),
            "h100.csv (h100) has the times of a100.csv (a100) in 2 of 3 rows, to the last digit");
}

TEST(Suspects, OneEqualTimeIsChance) {
  const MeasuredTable a = table_of("a100.csv", "a100", {{1, 10}, {2, 11}, {4, 13}});
  EXPECT_EQ(data_error([&] {
              refuse_copies(std::vector{a, table_of("h100.csv", "h100", {{1, 10}, {2, 9}, {4, 12}})});
            }),
            "no error");
  // The same file twice is no copy under another name.
  EXPECT_EQ(data_error([&] { refuse_copies(std::vector{a, a}); }), "no error");
}

TEST(Suspects, FallingTimes) {
  // 1 -> 2 falls by 5 %: tolerated. 2 -> 4 falls by a quarter. 8 -> 9 falls, but is no doubling; 4 -> 8 rises.
  const MeasuredTable table = table_of("a.csv", "h100", {{1, 100}, {2, 95}, {4, 71}, {8, 120}, {9, 60}});
  const std::vector<Fall> falls = falling_times(table);
  ASSERT_EQ(falls.size(), 1u);
  EXPECT_EQ(falls[0].line, 3);
  EXPECT_EQ(falls[0].larger_line, 4);
  EXPECT_EQ(falls[0].time_ns, 95);
  EXPECT_EQ(falls[0].larger_time_ns, 71);
}

TEST(Suspects, RepeatedSizesCountByTheirMedian) {
  MeasuredTable table = table_of("a.csv", "h100", {{1, 100}, {2, 20}, {2, 101}, {2, 102}});
  EXPECT_TRUE(falling_times(table).empty());
}

}  // namespace
}  // namespace afore::fit
