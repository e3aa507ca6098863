#include <gtest/gtest.h>

#include "report/bars.h"
#include "report/table.h"
#include "util/error.h"

namespace afore::report {
namespace {

TEST(Bars, HeightsRunFromLowestToFull) {
  const std::vector<double> values = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  EXPECT_EQ(bars(values, 8, 20, Charset::utf8), "▁▁▂▃▄▅▆▇█");
  EXPECT_EQ(bars(values, 8, 20, Charset::ascii), "  .:-=+*#");
}

TEST(Bars, AveragesNeighboursIntoTheWidth) {
  EXPECT_EQ(bars(std::vector<double>{0, 8, 8, 8, 1, 0}, 8, 3, Charset::ascii), "-# ");
  EXPECT_EQ(bars(std::vector<double>{}, 8, 3, Charset::ascii), "");
  EXPECT_EQ(bars(std::vector<double>{0, 0}, 0, 3, Charset::ascii), "  ");
}

TEST(Table, AlignsByCharactersAndTrimsLineEnds) {
  Table table({{"name", Align::left}, {"n"}, {"bar", Align::left}});
  table.add_row({"a", "10", "▁█"});
  table.add_rule();
  table.add_row({"longer", "7", "█"});
  EXPECT_EQ(table.aligned(),
            "name     n  bar\n"
            "a       10  ▁█\n"
            "---------------\n"
            "longer   7  █\n");
  EXPECT_THROW(table.add_row({"too few"}), Error);
}

TEST(Table, TsvKeepsOneLinePerRow) {
  Table table({{"a"}, {"b"}});
  table.add_row({"x\ty", "1\n2"});
  EXPECT_EQ(table.tsv(), "a\tb\nx y\t1 2\n");
}

}  // namespace
}  // namespace afore::report
