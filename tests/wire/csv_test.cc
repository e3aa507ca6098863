#include "wire/csv.h"

#include <gtest/gtest.h>

#include "util/error.h"

namespace afore::wire {
namespace {

std::vector<std::uint8_t> bytes(std::string_view text) { return {text.begin(), text.end()}; }

std::string fault(std::string_view text) {
  try {
    const CsvTable table(bytes(text), "t.csv");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::data);
    return error.what();
  }
  return "";
}

TEST(Csv, ReadsLfAndCrLfWithOrWithoutALastLineEnd) {
  for (const char* text : {"a,b\n1,x\n2,y\n", "a,b\r\n1,x\r\n2,y\r\n", "a,b\r\n1,x\r\n2,y"}) {
    const CsvTable table(bytes(text), "t.csv");
    ASSERT_EQ(table.rows(), 2u) << text;
    EXPECT_EQ(table.integer(1, table.column("a"), 0, 9), 2);
    EXPECT_EQ(table.text(1, table.column("b")), "y");
    EXPECT_EQ(table.line(1), 3);
  }
}

TEST(Csv, QuotedCellsHoldCommasQuotesAndLineEnds) {
  const CsvTable table(bytes("a,\"b,c\"\n\"x\"\"y\",\"1\n2\"\r\n,\n"), "t.csv");
  EXPECT_EQ(table.columns()[1], "b,c");
  EXPECT_EQ(table.text(0, 0), "x\"y");
  EXPECT_EQ(table.text(0, 1), "1\n2");
  EXPECT_EQ(table.text(1, 0), "");
  EXPECT_EQ(table.line(1), 4);
}

TEST(Csv, RefusesWhatIsNoTable) {
  EXPECT_EQ(fault(""), "t.csv: the table is empty");
  EXPECT_EQ(fault("a,b\n1\n"), "t.csv:2: 1 cells, where the header has 2 columns");
  EXPECT_EQ(fault("a,a\n"), "t.csv:1: the column \"a\" occurs twice");
  EXPECT_EQ(fault("a\n\"x"), "t.csv:2: a quoted cell is cut off");
  EXPECT_EQ(fault("a\n\"x\"y\n"), "t.csv:2: text behind a closing quote");
  EXPECT_EQ(fault("a\nx\"y\n"), "t.csv:2: a quote inside an unquoted cell");
  EXPECT_EQ(fault(std::string_view("a\n\0\n", 4)), "t.csv: not a text file: it has NULs");
  EXPECT_EQ(fault("a\nb\n\xE9\n"), "t.csv:3: the text is not UTF-8");
}

TEST(Csv, MessagesAreOneLineWhateverAColumnIsCalled) {
  const CsvTable table(bytes("\"a\nb\",c d\nx,y\n"), "t.csv");
  const auto refusal = [&](std::size_t column) {
    try {
      table.number(0, column);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(0), "t.csv:3: a\\nb: \"x\" is not a finite number");
  EXPECT_EQ(refusal(1), "t.csv:3: c d: \"y\" is not a finite number");
}

TEST(Csv, NumbersAreStrict) {
  const CsvTable table(bytes("n\n1.5\n1e400\nnan\n12x\n7\n"), "t.csv");
  EXPECT_EQ(table.number(0, 0), 1.5);
  for (const std::size_t row : {1, 2, 3}) EXPECT_THROW(table.number(row, 0), Error);
  EXPECT_THROW(table.integer(0, 0, 0, 9), Error);
  EXPECT_THROW(table.integer(4, 0, 0, 6), Error);
  EXPECT_EQ(table.integer(4, 0, 0, 7), 7);
  EXPECT_THROW(table.column("m"), Error);
}

}  // namespace
}  // namespace afore::wire
