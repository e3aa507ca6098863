// Encoding and decoding: worked by hand, against plain implementations, and over random texts and ids.
#include "nn/tokenizer.h"

#include <algorithm>
#include <thread>

#include "nn/bpe.h"
#include "nn/splitter.h"
#include "tokenizer_test_util.h"

namespace afore::nn {
namespace {

TEST(Tokenizer, MergesByRank) {
  const Tokenizer tokenizer = tokenizer_of(small_tokenizer());
  EXPECT_EQ(tokenizer.encode(""), Ids{});
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{257}));
  EXPECT_EQ(tokenizer.encode("bc"), (Ids{259}));
  EXPECT_EQ(tokenizer.encode("abab"), (Ids{256, 256}));
  EXPECT_EQ(tokenizer.encode(" abc"), (Ids{' ', 257}));  // "a b" comes before " a"
  EXPECT_EQ(tokenizer.encode(" aab"), (Ids{258, 256}));
  EXPECT_EQ(tokenizer.encode("\xC3\xA9"), (Ids{0xC3, 0xA9}));
  EXPECT_EQ(tokenizer.size(), 260);
}

TEST(Tokenizer, PiecesOfTheVocabularyFirst) {
  json file = small_tokenizer();
  file["model"]["vocab"]["xyz"] = 260;  // that no merge makes
  EXPECT_EQ(tokenizer_of(file).encode("xyz"), (Ids{'x', 'y', 'z'}));
  file["model"]["ignore_merges"] = true;
  EXPECT_EQ(tokenizer_of(file).encode("xyz"), (Ids{260}));
  EXPECT_EQ(tokenizer_of(file).encode("xyzab"), (Ids{'x', 'y', 'z', 256}));
}

TEST(Tokenizer, MergesAsPairs) {
  json file = small_tokenizer();
  file["model"]["merges"] = json::array({json::array({"a", "b"}), json::array({"ab", "c"})});
  EXPECT_EQ(tokenizer_of(file).encode("abcbc"), (Ids{257, 'b', 'c'}));
}

// Of two merges of one pair the last one's rank counts, as in the tokenizers library.
TEST(Tokenizer, MergeTwice) {
  json file = small_tokenizer();
  file["model"]["merges"] = {"a b", "b c", "a b"};
  EXPECT_EQ(tokenizer_of(file).encode("abc"), (Ids{'a', 259}));
}

TEST(Tokenizer, AddedTokens) {
  json file = small_tokenizer();
  file["added_tokens"] = {added_token(300, "<s>", true), added_token(301, "<s>ab", false),
                          added_token(302, "bc<", false), added_token(303, "c<s>", true, true),
                          added_token(256, "ab", false)};
  const Tokenizer tokenizer = tokenizer_of(file);
  EXPECT_EQ(tokenizer.encode("<s>"), (Ids{300}));
  EXPECT_EQ(tokenizer.encode("<s>abc"), (Ids{301, 'c'}));      // the longest
  EXPECT_EQ(tokenizer.encode("bc<s>"), (Ids{302, 's', '>'}));  // the leftmost
  EXPECT_EQ(tokenizer.encode("c<s>"), (Ids{'c', 300}));        // normalized ones come second
  EXPECT_EQ(tokenizer.encode("abc"), (Ids{256, 'c'}));         // before any merge
  EXPECT_EQ(tokenizer.encode("<s"), (Ids{'<', 's'}));
  EXPECT_EQ(tokenizer.encode("\xFF<s>\xE2\x82"), (Ids{0xFF, 300, 0xE2, 0x82}));
  EXPECT_EQ(tokenizer.size(), 304);
}

TEST(Tokenizer, Decodes) {
  json file = small_tokenizer();
  file["added_tokens"] = {added_token(300, "<s>", true), added_token(301, "\xC3\xA9 \xC4\xA0", false)};
  const Tokenizer tokenizer = tokenizer_of(file);
  EXPECT_EQ(tokenizer.decode(Ids{}), "");
  EXPECT_EQ(tokenizer.decode(Ids{258, 300, 257, 299, -1, 302, INT32_MAX, INT32_MIN}), " aabc");
  EXPECT_EQ(tokenizer.decode(Ids{301}), "\xC3\xA9 \xC4\xA0");  // as it is written
  EXPECT_EQ(tokenizer.decode(Ids{0xC3, 300, 0xA9}), "\xC3\xA9");
}

// One U+FFFD for each longest part that could have been a code point: the table of The Unicode Standard, 3.9.
TEST(Tokenizer, BrokenBytesBecomeReplacements) {
  const Tokenizer tokenizer = tokenizer_of(small_tokenizer());
  const auto decode = [&](std::string bytes) {
    Ids ids;
    for (const char byte : bytes) ids.push_back(static_cast<unsigned char>(byte));
    return replace_all(tokenizer.decode(ids), "\uFFFD", "?");
  };
  EXPECT_EQ(decode("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"), "????????A");
  EXPECT_EQ(decode("\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41"), "????????A");
  EXPECT_EQ(decode("\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42"), "?????A??B");
  EXPECT_EQ(decode("\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41"), "????A");
  EXPECT_EQ(decode("\xE2\x82"), "?");
  EXPECT_EQ(decode("\xF4\x8F\xBF\xBF\xEF\xBF\xBF\xED\x9F\xBF"), "\xF4\x8F\xBF\xBF\xEF\xBF\xBF\xED\x9F\xBF");
}

TEST(Tokenizer, BrokenTextIsEncodedByteByByte) {
  const Tokenizer tokenizer = tokenizer_of(small_tokenizer());
  EXPECT_EQ(tokenizer.encode("ab\xFF"
                             "abc\xC3"),
            (Ids{256, 0xFF, 257, 0xC3}));
  EXPECT_EQ(tokenizer.encode("a\x80"
                             "b"),
            (Ids{'a', 0x80, 'b'}));
  EXPECT_EQ(tokenizer.encode("\xE2\x82"
                             "ab"),
            (Ids{0xE2, 0x82, 256}));
}

// --- merging against a plain implementation ---

Ids plain_merges(const std::vector<Merge>& merges, std::string_view text) {
  Ids ids;
  for (const char c : text) ids.push_back(static_cast<unsigned char>(c));
  for (;;) {
    std::size_t best_rank = merges.size(), best = 0;
    for (std::size_t i = 0; i + 1 < ids.size(); ++i)
      for (std::size_t rank = 0; rank < best_rank; ++rank)
        if (merges[rank].left == ids[i] && merges[rank].right == ids[i + 1]) best_rank = rank, best = i;
    if (best_rank == merges.size()) return ids;
    ids[best] = merges[best_rank].result;
    ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
}

TEST(Bpe, AsThePlainAlgorithm) {
  Random random(1);
  std::array<int, 256> byte_ids{};
  for (int byte = 0; byte < 256; ++byte) byte_ids[static_cast<std::size_t>(byte)] = byte;
  std::size_t merged = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<Merge> merges;
    Ids letters = {'a', 'b', 'c'};
    for (int result = 256; result < 256 + 20; ++result) {
      const auto any = [&] {
        return letters[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(letters.size())))];
      };
      const Merge merge{any(), any(), result};
      const auto same = [&](const Merge& m) { return m.left == merge.left && m.right == merge.right; };
      if (std::any_of(merges.begin(), merges.end(), same)) continue;
      merges.push_back(merge);
      letters.push_back(result);
    }
    const Bpe bpe(byte_ids, merges);
    Bpe::Scratch scratch;
    for (int i = 0; i < 10; ++i) {
      std::string text(static_cast<std::size_t>(random.below(60)), 'a');
      for (char& c : text) c = static_cast<char>('a' + random.below(3));
      Ids ids;
      bpe.encode(text, ids, scratch);
      ASSERT_EQ(ids, plain_merges(merges, text)) << text;
      merged += text.size() - ids.size();
    }
  }
  EXPECT_GT(merged, 10'000u);
}

// A quadratic merge would take hours here.
TEST(Tokenizer, LongPieces) {
  const Tokenizer tokenizer(kTinyFolder);
  Random random(2);
  for (const std::string& letters :
       {std::string("a"), std::string("etaoinshrdlu"), std::string(" "), std::string("<|")}) {
    std::string text(1'000'000, ' ');
    for (char& c : text) c = letters[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(letters.size())))];
    const Ids ids = tokenizer.encode(text);
    EXPECT_LE(ids.size(), text.size());
    EXPECT_EQ(tokenizer.decode(ids), text);
  }
}

// One match that goes back over more characters than PCRE2's limit of steps, were it left as it is.
TEST(Splitter, LongRunsOfSpaces) {
  const Splitter splitter({{R"(\s*[\r\n]+|\s+(?!\S)|\s+)"}}, "t");
  const std::string text = std::string(12'000'000, ' ') + "x";
  Splitter::Scratch scratch(text.size());
  std::vector<std::size_t> pieces;
  splitter.split(text, scratch, [&](std::string_view piece) { pieces.push_back(piece.size()); });
  EXPECT_EQ(pieces, (std::vector<std::size_t>{11'999'999, 1, 1}));
}

// A pattern that backtracks without end is given up in one line.
TEST(Splitter, GivesUp) {
  const Splitter splitter({{"(?:a+)+[bc]"}}, "t");
  const std::string text(200, 'a');
  Splitter::Scratch scratch(text.size());
  EXPECT_EQ(error_of([&] { splitter.split(text, scratch, [](std::string_view) {}); }),
            "a regular expression of tokenizer.json gives up on 200 bytes of text: match limit exceeded");
}

std::string random_text(Random& random) {
  static const std::vector<std::string> parts = {
      "hello",    " the",     "  ",     "\n",       "\r\n\n",       "1234",
      "'s",       "<|user|>", "<|us",   "\xC3\xA9", "\xE6\x97\xA5", "\xF0\x9F\x98\x80",
      "\xCC\x81", "\t",       "print(", "\xC2\xA0", "\xC2\x85",     "<|endoftext|>",
      "def f():", "Q"};
  std::string text;
  for (std::int64_t i = random.below(20); i > 0; --i)
    text += random.below(8) == 0
                ? std::string(1, static_cast<char>(random.below(128)))
                : parts[static_cast<std::size_t>(random.below(static_cast<std::int64_t>(parts.size())))];
  return text;
}

TEST(Tokenizer, RoundTripsOfText) {
  const Tokenizer tokenizer(kTinyFolder);
  Random random(3);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random_text(random);
    std::string kept = text;  // decoded text has no special tokens
    for (const char* special : {"<|user|>", "<|endoftext|>"}) kept = replace_all(kept, special, "");
    EXPECT_EQ(tokenizer.decode(tokenizer.encode(text)), kept);
  }
}

TEST(Tokenizer, BytesOfBrokenTextAllGetIds) {
  const Tokenizer tokenizer = tokenizer_of(small_tokenizer());
  Random random(4);
  for (int i = 0; i < 2000; ++i) {
    std::string bytes(static_cast<std::size_t>(random.below(40)), '\0'), back;
    for (char& c : bytes) c = "abc \xC3\xA9\xE2\x82\xAC\xF0\x9F\xFF"[random.below(12)];
    for (const int id : tokenizer.encode(bytes))
      back += id < 256 ? std::string(1, static_cast<char>(id))
                       : std::vector<std::string>{"ab", "abc", " a", "bc"}[static_cast<std::size_t>(id - 256)];
    ASSERT_EQ(back, bytes);
  }
}

TEST(Tokenizer, ThreadsShareOne) {
  const Tokenizer tokenizer(kTinyFolder);
  Random random(5);
  std::vector<std::string> texts(200);
  std::vector<Ids> alone, first(texts.size()), second(texts.size());
  for (std::string& text : texts) alone.push_back(tokenizer.encode(text = random_text(random)));
  const auto encode_all = [&](std::vector<Ids>& out) {
    for (std::size_t i = 0; i < texts.size(); ++i) out[i] = tokenizer.encode(texts[i]);
  };
  std::thread other([&] { encode_all(second); });
  encode_all(first);
  other.join();
  EXPECT_EQ(first, alone);
  EXPECT_EQ(second, alone);
}

// --- streams ---

bool is_utf8(std::string_view text) {
  const json quoted = std::string(text);
  try {
    quoted.dump();
    return true;
  } catch (const json::exception&) {
    return false;
  }
}

TEST(TokenStream, HoldsUnfinishedCodePoints) {
  const Tokenizer tokenizer = tokenizer_of(small_tokenizer());
  TokenStream stream(tokenizer);
  EXPECT_EQ(stream.push('a'), "a");
  EXPECT_EQ(stream.push(0xE2), "");
  EXPECT_EQ(stream.push(0x82), "");
  EXPECT_EQ(stream.push(0xAC), "\xE2\x82\xAC");
  EXPECT_EQ(stream.push(0xF0), "");
  EXPECT_EQ(stream.push(0x9F), "");
  EXPECT_EQ(stream.push(256),
            "\uFFFD"
            "ab");
  EXPECT_EQ(stream.push(0xFF), "\uFFFD");
  EXPECT_EQ(stream.push(0xC3), "");
  EXPECT_EQ(stream.finish(), "\uFFFD");
  EXPECT_EQ(stream.finish(), "");
}

TEST(TokenStream, JoinsToWhatDecodeGives) {
  const Tokenizer tiny(kTinyFolder), small = tokenizer_of(small_tokenizer());
  Random random(6);
  int held_back = 0;
  for (int round = 0; round < 3000; ++round) {
    const Tokenizer& tokenizer = round % 2 == 0 ? tiny : small;
    Ids ids(static_cast<std::size_t>(random.below(30)));
    // Mostly bytes from 0x80 on, so that code points are put together and broken at every place.
    for (int& id : ids) {
      id =
          static_cast<int>(random.below(4) == 0 ? random.below(tokenizer.size() + 40) - 20 : 0x80 + random.below(0x80));
      if (random.below(3) == 0)
        id =
            static_cast<int>(std::array{0xE2, 0x82, 0xAC, 0xF0, 0x9F, 0xC3}[static_cast<std::size_t>(random.below(6))]);
    }
    TokenStream stream(tokenizer);
    std::string joined;
    for (const int id : ids) {
      const std::string part = stream.push(id);
      ASSERT_TRUE(is_utf8(part));
      held_back += part.empty();
      joined += part;
    }
    joined += stream.finish();
    ASSERT_EQ(joined, tokenizer.decode(ids));
  }
  EXPECT_GT(held_back, 1000);
}

}  // namespace
}  // namespace afore::nn
