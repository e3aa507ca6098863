// Tokens of requests into text that is certain, and their ends.
#include <gtest/gtest.h>

#include "host/sequences.h"
#include "real_model.h"

namespace afore::host {
namespace {

// Bytes as tokens, and some that stand for more: 0xC3 0xA9 is an e with an accent, 0xE2 0x82 0xAC the euro sign.
class SequencesTest : public testing::Test {
 protected:
  const nn::Tokenizer& tokenizer = tiny_model().tokenizer;
  const int eos = tiny_model().config().eos_ids.at(0);
  std::vector<std::string> told;      // parts, "$" behind the last
  std::vector<std::int64_t> counted;  // tokens that were told with them
  Sequences sequences{
      tokenizer, {eos, 7}, [this](const std::string&, std::string_view text, std::int64_t tokens, bool last) {
        told.push_back(std::string(text) + (last ? "$" : ""));
        counted.push_back(tokens);
      }};
  device::Step step;

  std::vector<int> ids(std::string_view text) const { return tokenizer.encode(text); }
  // One token for each byte.
  std::vector<int> bytes(std::string_view text) const {
    std::vector<int> all;
    for (const char byte : text) {
      const std::vector<int> one = tokenizer.encode(std::string(1, byte));
      EXPECT_EQ(one.size(), 1u);
      all.push_back(one[0]);
    }
    return all;
  }

  void admit(std::vector<std::string> stop = {}, bool ignore_eos = false, std::int64_t output_tokens = 100) {
    IncomingRequest request = ask("r", {1, 2, 3}, output_tokens, 1);
    auto prompt = std::make_shared<Prompt>(*request.prompt);
    prompt->stop = std::move(stop);
    prompt->ignore_eos = ignore_eos;
    request.prompt = std::move(prompt);
    sequences.admit(0, request);
  }
  // As the request's only slice of a step; true: that ended it.
  bool take(int token) {
    step.slices = {{nullptr, 0, 1, true, {}, 0}};
    step.slots = {0};
    step.sampled = {token};
    sequences.take(step);
    return sequences.ended(0);
  }
  // How many it took.
  std::size_t take_all(const std::vector<int>& tokens) {
    for (std::size_t i = 0; i < tokens.size(); ++i)
      if (take(tokens[i])) return i + 1;
    return tokens.size();
  }
  Completion answer() {
    Completion completion;
    sequences.answer(0, completion);
    sequences.close(0);
    return completion;
  }
};

TEST_F(SequencesTest, TextComesAsItGrowsAndIsThatOfAllTokens) {
  admit();
  const std::vector<int> tokens = ids("The harbour was quiet.");
  EXPECT_EQ(take_all(tokens), tokens.size());
  EXPECT_FALSE(sequences.ended(0));
  EXPECT_EQ(told.size(), tokens.size());  // without stop strings nothing is held back
  const Completion completion = answer();
  EXPECT_EQ(completion.text, "The harbour was quiet.");
  EXPECT_EQ(completion.token_ids, (std::vector<std::int64_t>(tokens.begin(), tokens.end())));
  EXPECT_EQ(told.back(), "$");
}

TEST_F(SequencesTest, StopStringAcrossTokens) {
  admit({"xyz", "e q"});
  EXPECT_EQ(take_all(bytes("one two e quiet")), 11u);  // up to the q
  EXPECT_TRUE(sequences.early(0));
  const Completion completion = answer();
  EXPECT_EQ(completion.text, "one two ");
  EXPECT_EQ(completion.token_ids.size(), 11u);
  std::string all;
  for (const std::string& part : told) all += part;
  EXPECT_EQ(all, "one two $");
}

TEST_F(SequencesTest, EveryTokenThatGoesOnIsToldOnceWithTextOrWithout) {
  admit({"STOP"});
  take_all(bytes("abST"));
  EXPECT_EQ(told, (std::vector<std::string>{"", "", "", "a"}));  // three bytes are held back
  EXPECT_EQ(counted, (std::vector<std::int64_t>{1, 2, 3, 4}));
  EXPECT_TRUE(take(eos));  // it does not go on
  EXPECT_EQ(told.size(), 4u);
  EXPECT_EQ(answer().text, "abST");
  EXPECT_EQ(told.back(), "bST$");
  EXPECT_EQ(counted.back(), 5);
}

TEST_F(SequencesTest, TheFirstStopStringInTheTextCounts) {
  admit({"bcd", "ab"});
  const std::vector<int> tokens = ids("xabcd");
  take_all(tokens);
  EXPECT_EQ(answer().text, "x");
}

TEST_F(SequencesTest, WhatMayBeginAStopStringIsHeldBack) {
  admit({"STOP"});
  take_all(bytes("abcdST"));
  std::string all;
  for (const std::string& part : told) all += part;
  EXPECT_EQ(all, "abc");  // the last three bytes may yet be part of it
  take_all(bytes("Ax"));
  EXPECT_EQ(answer().text, "abcdSTAx");
}

TEST_F(SequencesTest, StopStringInTheSameTokenCutsBehindWhatIsBeforeIt) {
  admit({"o"});
  const std::vector<int> tokens = ids(" harbour");
  take_all(tokens);
  EXPECT_TRUE(sequences.ended(0));
  EXPECT_EQ(answer().text, " harb");
}

TEST_F(SequencesTest, CodePointsComeWhole) {
  admit({"zz"});
  take_all(bytes("a\xe2\x82\xac"));
  for (const std::string& part : told) EXPECT_TRUE(part == "a" || part.empty()) << part;
  take_all(bytes("b"));
  std::string all;
  for (const std::string& part : told) all += part;
  EXPECT_EQ(all, "a\xe2\x82\xac");  // one byte is held back: b
  EXPECT_EQ(answer().text,
            "a\xe2\x82\xac"
            "b");
}

TEST_F(SequencesTest, HeldBackBytesDoNotCutACodePoint) {
  admit({"zzz"});  // two bytes are held back, in the middle of the euro sign
  take_all(bytes("ab\xe2\x82\xac"));
  std::string all;
  for (const std::string& part : told) all += part;
  EXPECT_EQ(all, "ab");
  EXPECT_EQ(answer().text, "ab\xe2\x82\xac");
}

TEST_F(SequencesTest, EosEndsAndStandsInTheTokensButNotInTheText) {
  admit();
  take_all(bytes("ab"));
  EXPECT_TRUE(take(eos));
  EXPECT_TRUE(sequences.early(0));
  const Completion completion = answer();
  EXPECT_EQ(completion.text, "ab");
  EXPECT_EQ(completion.token_ids.back(), eos);
  EXPECT_EQ(completion.token_ids.size(), 3u);
}

TEST_F(SequencesTest, AnyOfSeveralEosTokensEnds) {
  admit();
  EXPECT_TRUE(take(7));
}

TEST_F(SequencesTest, IgnoredEosIsATokenLikeOthers) {
  admit({}, true);
  take_all(bytes("a"));
  EXPECT_FALSE(take(eos));
  take_all(bytes("b"));
  EXPECT_EQ(answer().text, "ab");  // special tokens have no text
}

TEST_F(SequencesTest, EosAsTheLastTokenAllowedIsNotEarly) {
  admit({}, false, 2);
  take_all(bytes("a"));
  EXPECT_TRUE(take(eos));
  EXPECT_FALSE(sequences.early(0));
}

TEST_F(SequencesTest, AnUnfinishedCodePointAtTheEndIsShownAsSuch) {
  admit();
  take_all(bytes("a\xc3"));
  EXPECT_EQ(answer().text, "a\xef\xbf\xbd");  // U+FFFD
  told.clear();
  admit();
  take_all(bytes("a\xc3"));
  take(eos);
  EXPECT_EQ(answer().text, "a\xef\xbf\xbd");  // the text of all its tokens, however it ends
  EXPECT_EQ(told.back(), "\xef\xbf\xbd$");
}

TEST_F(SequencesTest, TextIsDecodedWithoutASinkToo) {
  Sequences silent(tokenizer, {eos}, {});
  silent.admit(3, ask("r", {1}, 5, 1));
  step.slices = {{nullptr, 0, 1, true, {}, 0}};
  step.slots = {3};
  step.sampled = {ids("hello")[0]};
  silent.take(step);
  Completion completion;
  silent.answer(3, completion);
  EXPECT_EQ(completion.text, tokenizer.decode(std::vector<int>{step.sampled[0]}));
}

TEST_F(SequencesTest, FillsAStepOfItsAttentionWorker) {
  admit();
  sequences.admit(1, ask("s", {11, 12, 13, 14}, 5, 77));
  batch::ServingStep composed;
  composed.chunks = {{0, 1, 2, true, 0}, {1, 0, 3, false, 1}};
  sequences.fill(composed, 1, step);
  ASSERT_EQ(step.slices.size(), 1u);
  EXPECT_EQ(step.token_ids, (std::vector<int>{11, 12, 13}));
  EXPECT_EQ(step.slots, std::vector<int>{1});
  EXPECT_EQ(step.slices[0].sampling.seed, 77u);
  EXPECT_FALSE(step.slices[0].samples);
  sequences.fill(composed, 0, step);
  EXPECT_EQ(step.token_ids, (std::vector<int>{2, 3}));
  EXPECT_EQ(step.slices[0].pages, &sequences.pages(0));
  take(42);  // the next token's place is behind the prompt
  composed.chunks = {{0, 3, 1, true, 0}};
  sequences.fill(composed, 0, step);
  EXPECT_EQ(step.token_ids, std::vector<int>{42});
  EXPECT_EQ(step.slices[0].sample_index, 1u);
}

TEST_F(SequencesTest, OneThatNeverRanHasNoAnswer) {
  Completion completion;
  completion.text = "as it was";
  sequences.answer(5, completion);
  EXPECT_EQ(completion.text, "as it was");
  EXPECT_TRUE(told.empty());
}

}  // namespace
}  // namespace afore::host
