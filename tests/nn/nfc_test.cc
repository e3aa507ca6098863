// Composed text: rules worked by hand, and what must hold of any text.
#include "nn/nfc.h"

#include "nn/nfc_table.h"
#include "nn_test_util.h"

namespace afore::nn {
namespace {

std::string nfc(std::string_view text) {
  std::string buffer;
  return std::string(to_nfc(text, buffer));
}

TEST(Nfc, ComposesAndOrders) {
  EXPECT_EQ(nfc(""), "");
  EXPECT_EQ(nfc("e\u0301"), "\u00E9");
  EXPECT_EQ(nfc("q\u0307\u0323"), "q\u0323\u0307");             // the mark of the lower class first
  EXPECT_EQ(nfc("a\u0323\u0302"), "\u1EAD");                    // twice
  EXPECT_EQ(nfc("a\u0302\u0323"), "\u1EAD");                    // past a mark of another class
  EXPECT_EQ(nfc("a\u0327\u0328\u0301"), "\u00E1\u0327\u0328");  // past two
  EXPECT_EQ(nfc("a\u0301\u0300"), "\u00E1\u0300");              // the second is blocked by none, and makes nothing
  EXPECT_EQ(nfc("\u0301e"), "\u0301e");                         // a mark without what it could stand on
  EXPECT_EQ(nfc("\u09C7\u09BE"), "\u09CB");                     // two starters
  EXPECT_EQ(nfc("\u212B\u2126\uF900"), "\u00C5\u03A9\u8C48");   // singletons
  EXPECT_EQ(nfc("\u0958"), "\u0915\u093C");                     // excluded from composition
  EXPECT_EQ(nfc("\u0344"), "\u0308\u0301");
}

TEST(Nfc, Hangul) {
  EXPECT_EQ(nfc("\u1112\u1161\u11AB"), "\uD55C");
  EXPECT_EQ(nfc("\u1112\u1161"), "\uD558");
  EXPECT_EQ(nfc("\uD558\u11AB"), "\uD55C");
  EXPECT_EQ(nfc("\uD55C\u11AB"), "\uD55C\u11AB");  // there is a trailing one already
  EXPECT_EQ(nfc("\uD558\u11A7"), "\uD558\u11A7");  // the place before the first trailing one is none
  EXPECT_EQ(nfc("\u1112\u0301\u1161"), "\u1112\u0301\u1161");
}

TEST(Nfc, WhatIsComposedStaysWhereItIs) {
  for (const std::string_view text : {"plain", "\u00E9t\u00E9", "\u65E5\u672C\u8A9E", "\uD55C\uAE00", "\U0001F600"}) {
    std::string buffer;
    EXPECT_EQ(to_nfc(text, buffer).data(), text.data());
  }
}

TEST(Nfc, TwiceIsOnce) {
  Random random(9);
  std::vector<std::uint32_t> codes = {'a', 'e', 0x1112, 0x1161, 0x11AB, 0xD55C, 0xAC00};
  for (const auto& table : {kNfcSingletons, kNfcPairs, kNfcExcluded, kNfcClasses})
    codes.insert(codes.end(), table.begin(), table.end());
  std::erase_if(codes, [](std::uint32_t code) { return code < 0x20; });  // combining classes up to there are none
  int changed = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::u32string text;
    for (std::int64_t n = random.below(9); n > 0; --n)
      text +=
          static_cast<char32_t>(codes[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(codes.size())))]);
    std::string utf8;
    for (const char32_t c : text) {
      if (c < 0x80) utf8 += static_cast<char>(c);
      else if (c < 0x800) utf8 += {static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 63))};
      else if (c < 0x10000)
        utf8 += {static_cast<char>(0xE0 | c >> 12), static_cast<char>(0x80 | (c >> 6 & 63)),
                 static_cast<char>(0x80 | (c & 63))};
      else
        utf8 += {static_cast<char>(0xF0 | c >> 18), static_cast<char>(0x80 | (c >> 12 & 63)),
                 static_cast<char>(0x80 | (c >> 6 & 63)), static_cast<char>(0x80 | (c & 63))};
    }
    const std::string once = nfc(utf8);
    changed += once != utf8;
    ASSERT_EQ(nfc(once), once);
  }
  EXPECT_GT(changed, 5000);
}

}  // namespace
}  // namespace afore::nn
