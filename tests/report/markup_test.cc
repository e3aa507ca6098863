#include "report/markup.h"

#include <gtest/gtest.h>

#include "report/ticks.h"

namespace afore::report {
namespace {

TEST(Markup, EscapesWhatMarkupTakesForItself) {
  EXPECT_EQ(escape("<a href='x'>\"&\"</a>"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;&quot;&lt;/a&gt;");
  EXPECT_EQ(escape("größe 日本 🙂"), "größe 日本 🙂");
}

TEST(Markup, ReplacesWhatXmlMayNotHold) {
  EXPECT_EQ(escape(std::string_view("a\0b\x1b[31m", 8)), "a\uFFFDb\uFFFD[31m");
  EXPECT_EQ(escape("\xff\xc0\x80"), "\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(escape("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(escape("\xef\xbf\xbe"), "\uFFFD\uFFFD\uFFFD") << "U+FFFE";
  EXPECT_EQ(escape("\xf4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD") << "beyond U+10FFFF";
  EXPECT_EQ(escape("x\xe2\x82"), "x\uFFFD\uFFFD") << "cut off";
  EXPECT_EQ(escape("\t\n"), "\t\n");
}

TEST(Markup, ShortensByCharacters) {
  EXPECT_EQ(shorten("äöü", 3), "äöü");
  EXPECT_EQ(shorten("äöüß", 3), "äö…");
}

TEST(Markup, CoordinatesHaveOneDecimalAtMost) {
  EXPECT_EQ(coordinate(3), "3");
  EXPECT_EQ(coordinate(3.14), "3.1");
  EXPECT_EQ(coordinate(-0.01), "0");
  EXPECT_EQ(coordinate(100.04), "100");
}

TEST(Ticks, AreRoundNumbersWithinTheRange) {
  EXPECT_EQ(linear_ticks(0, 10, 6).values, (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(linear_ticks(0, 1, 5).decimals, 1);
  EXPECT_EQ(linear_ticks(0.9, 1.1, 5).values.size(), 5u);  // 0.9 0.95 1 1.05 1.1
  EXPECT_EQ(linear_ticks(3, 3, 5).values, std::vector<double>{3});
  const auto large = linear_ticks(0, 7'000'000, 8);
  EXPECT_EQ(large.values.back(), 7'000'000);
  EXPECT_EQ(large.decimals, 0);
}

TEST(Ticks, NeverMoreThanAskedFor) {
  for (double hi = 0.0013; hi < 1e7; hi *= 1.37)
    for (int most = 2; most < 14; ++most) {
      const auto ticks = linear_ticks(hi / 7, hi, most);
      EXPECT_LE(static_cast<int>(ticks.values.size()), most) << hi << " " << most;
      for (const double value : ticks.values) EXPECT_LE(value, hi * (1 + 1e-9));
    }
}

TEST(Ticks, LogarithmicOnesAreDenseWhereThereIsRoom) {
  EXPECT_EQ(log_ticks(1, 10, 8).values, (std::vector<double>{1, 2, 5, 10}));
  EXPECT_EQ(log_ticks(0.9, 20'000, 8).values, (std::vector<double>{1, 10, 100, 1000, 10000}));
}

TEST(Ticks, IndicesAreThinnedByPowersOfTwo) {
  EXPECT_EQ(index_ticks(4, 10), (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(index_ticks(256, 16).size(), 16u);
  EXPECT_EQ(index_ticks(1000, 17)[1], 64);
}

TEST(Ticks, NumbersReadAsPeopleWriteThem) {
  EXPECT_EQ(fixed(1234567.891, 1), "1,234,567.9");
  EXPECT_EQ(fixed(-1234, 0), "-1,234");
  EXPECT_EQ(fixed(-0.0001, 2), "0.00");
  EXPECT_EQ(fixed(999, 0), "999");
  EXPECT_EQ(brief(0), "0");
  EXPECT_EQ(brief(0.01234), "0.0123");
  EXPECT_EQ(brief(1.234), "1.23");
  EXPECT_EQ(brief(12.34), "12.3");
  EXPECT_EQ(brief(123.4), "123");
  EXPECT_EQ(brief(12345), "12,345");
  EXPECT_EQ(brief(12345678), "12.3M");
  EXPECT_STREQ(byte_unit(3.0 * (1 << 20)).name, "MiB");
  EXPECT_STREQ(time_unit(999).name, "ns");
  EXPECT_STREQ(time_unit(2.5e6).name, "ms");
}

}  // namespace
}  // namespace afore::report
