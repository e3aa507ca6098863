// What the tools say while they work and when a word is misspelt.
#include <gtest/gtest.h>

#include "common/command_line.h"
#include "common/nearest.h"
#include "common/progress.h"

namespace afore::cli {
namespace {

TEST(ProgressText, CountRateAndTimeLeft) {
  EXPECT_EQ(progress_text(1'234'567, "records", 100, 0.25, ""), "1,234,567 records, 12,346/s, 25 %, 5:00 left");
  EXPECT_EQ(progress_text(3, "requests", 2, 0.5, "31 tok/s"), "3 requests, 1.5/s, 31 tok/s, 50 %, 0:02 left");
  EXPECT_EQ(progress_text(999, "records", 1, -1, ""), "999 records, 999/s");
}

TEST(ProgressText, LongWaitsAndNothingDoneYet) {
  EXPECT_EQ(progress_text(10, "sizes", 100, 0.01, ""), "10 sizes, 0.1/s, 1 %, 2:45:00 left");
  EXPECT_EQ(progress_text(10, "sizes", 1, 0, ""), "10 sizes, 10/s, 0 %");
  EXPECT_EQ(progress_text(10, "sizes", 1, 1.7, ""), "10 sizes, 10/s, 100 %, 0:00 left");  // an input that grew
}

TEST(Nearest, EditsAndSwapsWithinAThirdOfTheWord) {
  EXPECT_EQ(nearest("--wokers", {"--worker", "--workers"}), "--workers");
  EXPECT_EQ(nearest("tmie", {"tiles", "time"}), "time");
  EXPECT_EQ(nearest("xyz", {"time", "tiles"}), "");
  EXPECT_EQ(guess_at("afroe", {"static", "afore"}), "did you mean afore? ");
  EXPECT_EQ(guess_at("nothing-like-it", {"static", "afore"}), "");
}

TEST(Paragraphs, LineEndsAreSpacesAndEmptyLinesPart) {
  EXPECT_EQ(paragraphs("one\ntwo \nthree\n\nfour"), (std::vector<std::string>{"one two three", "four"}));
  EXPECT_EQ(paragraphs(""), std::vector<std::string>{});
}

}  // namespace
}  // namespace afore::cli
