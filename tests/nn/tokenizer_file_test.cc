// What a tokenizer.json may say, and each refusal by its place.
#include <functional>

#include "tokenizer_test_util.h"

namespace afore::nn {
namespace {

using Change = std::function<void(json&)>;

std::string refusal(const Change& change) {
  json file = small_tokenizer();
  change(file);
  const std::string error = error_of([&] { tokenizer_of(file); });
  const std::string prefix = "tokenizer.json: ";
  return error.rfind(prefix, 0) == 0 ? error.substr(prefix.size()) : error;
}

std::string refusal(const std::string& pointer, const json& value) {
  return refusal([&](json& file) { file[json::json_pointer(pointer)] = value; });
}

std::string without(const std::string& pointer) {
  return refusal([&](json& file) {
    const json::json_pointer place(pointer);
    file[place.parent_pointer()].erase(place.back());
  });
}

json split(const std::string& pattern) {
  return {{"type", "Split"}, {"pattern", {{"Regex", pattern}}}, {"behavior", "Isolated"}, {"invert", false}};
}

json bytes() { return small_tokenizer()["decoder"]; }

json sequence(const json& steps) { return {{"type", "Sequence"}, {"pretokenizers", steps}}; }

TEST(TokenizerFile, TheSmallOneIsRight) {
  EXPECT_EQ(refusal([](json&) {}), "no error");
}

TEST(TokenizerFile, Text) {
  const auto error = [](std::string_view text) { return error_of([&] { Tokenizer(text, "t.json"); }); };
  EXPECT_EQ(error(""), "t.json: not valid JSON at byte 1");
  EXPECT_EQ(error("[]"), "t.json: expected an object, found an array");
  EXPECT_EQ(error("{}"), "t.json: /decoder: the key is missing");
  EXPECT_EQ(error("{\"model\":{\"vocab\":{\"a\":1,\"a\":2}}}"), "t.json: the key \"a\" stands twice in one object");
  const TempFolder folder;
  EXPECT_EQ(folder.clean(error_of([&] { Tokenizer tokenizer(folder.path()); }, ErrorKind::io)),
            "cannot open FOLDER/tokenizer.json: No such file or directory");
}

TEST(TokenizerFile, WhatWouldChangeTheResult) {
  const std::string null = "anything but null is not computed";
  EXPECT_EQ(refusal("/normalizer", {{"type", "Lowercase"}}),
            "/normalizer/type: \"Lowercase\" is not computed | NFC is");
  EXPECT_EQ(refusal("/normalizer", {{"type", "NFC"}}), "no error");
  EXPECT_EQ(refusal("/truncation", {{"max_length", 5}}), "/truncation: " + null);
  EXPECT_EQ(refusal("/padding", {{"strategy", "BatchLongest"}}), "/padding: " + null);
  EXPECT_EQ(refusal("/model/type", "Unigram"), "/model/type: \"Unigram\" is not computed | BPE is");
  EXPECT_EQ(refusal("/model/type", "WordPiece"), "/model/type: \"WordPiece\" is not computed | BPE is");
  EXPECT_EQ(without("/model/type"), "no error");
  EXPECT_EQ(refusal("/model/dropout", 0.1), "/model/dropout: 0.1 is not computed");
  EXPECT_EQ(refusal("/model/dropout", 0.0), "no error");
  EXPECT_EQ(refusal("/model/byte_fallback", true),
            "/model/byte_fallback: true is not computed | only vocabularies of bytes are");
  EXPECT_EQ(refusal("/model/continuing_subword_prefix", "##"),
            "/model/continuing_subword_prefix: \"##\" is not computed");
  EXPECT_EQ(refusal("/model/end_of_word_suffix", "</w>"), "/model/end_of_word_suffix: \"</w>\" is not computed");
  EXPECT_EQ(refusal("/model/end_of_word_suffix", ""), "no error");
  EXPECT_EQ(refusal("/model/unk_token", "<unk>"), "no error");  // every byte has a token
}

TEST(TokenizerFile, Decoders) {
  EXPECT_EQ(refusal("/decoder", nullptr), "/decoder: without ByteLevel it is not computed");
  EXPECT_EQ(refusal("/decoder", {{"type", "Metaspace"}}),
            "/decoder/type: \"Metaspace\" is not computed | ByteLevel is");
}

TEST(TokenizerFile, PostProcessors) {
  const json from_text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const json bos = {{"SpecialToken", {{"id", "<s>"}, {"type_id", 0}}}};
  const auto with = [](const json& processor) { return refusal("/post_processor", processor); };
  const auto with_template = [&](const json& single) {
    return with({{"type", "TemplateProcessing"}, {"single", single}});
  };
  EXPECT_EQ(with({{"type", "ByteLevel"}, {"trim_offsets", true}}), "no error");
  EXPECT_EQ(with_template(json::array({from_text})), "no error");
  const std::string adds = "/single: tokens around the text are not computed | only a template that adds nothing is";
  EXPECT_EQ(with_template(json::array({bos, from_text})), "/post_processor" + adds);
  EXPECT_EQ(with_template(json::array({bos})), "/post_processor" + adds);
  EXPECT_EQ(with_template(json::array()), "/post_processor" + adds);
  EXPECT_EQ(with({{"type", "RobertaProcessing"}}), "/post_processor/type: \"RobertaProcessing\" is not computed");
  const json steps = {{{"type", "ByteLevel"}}, {{"type", "TemplateProcessing"}, {"single", {bos, from_text}}}};
  EXPECT_EQ(with({{"type", "Sequence"}, {"processors", steps}}), "/post_processor/processors/1" + adds);
}

TEST(TokenizerFile, PreTokenizers) {
  const auto with = [](const json& pre_tokenizer) { return refusal("/pre_tokenizer", pre_tokenizer); };
  const std::string hint = " | steps of Split and at last ByteLevel are";
  EXPECT_EQ(with(nullptr), "/pre_tokenizer: without ByteLevel it is not computed");
  EXPECT_EQ(with(sequence(json::array())), "/pre_tokenizer: without ByteLevel it is not computed");
  EXPECT_EQ(with(sequence(json::array({bytes()}))), "no error");
  EXPECT_EQ(with(sequence({split("a"), split("b"), bytes()})), "no error");
  EXPECT_EQ(with({{"type", "Metaspace"}}), "/pre_tokenizer/type: \"Metaspace\" is not computed as step 1 of 1" + hint);
  EXPECT_EQ(with(split("a")), "/pre_tokenizer/type: \"Split\" is not computed as step 1 of 1" + hint);
  EXPECT_EQ(with(sequence({bytes(), split("a")})),
            "/pre_tokenizer/pretokenizers/0/type: \"ByteLevel\" is not computed as step 1 of 2" + hint);
  EXPECT_EQ(with(sequence({{{"type", "Digits"}}, bytes()})),
            "/pre_tokenizer/pretokenizers/0/type: \"Digits\" is not computed as step 1 of 2" + hint);
  EXPECT_EQ(refusal("/pre_tokenizer/add_prefix_space", true),
            "/pre_tokenizer/add_prefix_space: a space before the text is not computed");
  EXPECT_EQ(without("/pre_tokenizer/add_prefix_space"), "/pre_tokenizer/add_prefix_space: the key is missing");
}

TEST(TokenizerFile, Splits) {
  const auto with = [](const std::string& key, const json& value) {
    json step = split("a");
    step[key] = value;
    const std::string error = refusal("/pre_tokenizer", sequence({step, bytes()})),
                      place = "/pre_tokenizer/pretokenizers/0";
    return error.rfind(place, 0) == 0 ? error.substr(place.size()) : error;
  };
  const std::string hint = " | Isolated is, and Removed with invert";
  EXPECT_EQ(with("behavior", "MergedWithPrevious"), "/behavior: \"MergedWithPrevious\" is not computed" + hint);
  EXPECT_EQ(with("behavior", "Removed"), "/behavior: \"Removed\" is not computed" + hint);
  EXPECT_EQ(with("invert", true), "no error");
  EXPECT_EQ(with("invert", nullptr), "/invert: expected true or false, found null");
  EXPECT_EQ(with("pattern", "a"), "/pattern: expected an object, found \"a\"");
  EXPECT_EQ(with("pattern", {{"Glob", "*"}}), "/pattern/String: the key is missing");
  EXPECT_EQ(with("pattern", {{"String", ""}}), "/pattern: the text to split at is empty");
}

std::string pattern_refusal(const std::string& pattern) {
  const std::string error = refusal("/pre_tokenizer", sequence({split(pattern), bytes()}));
  const std::string place = "/pre_tokenizer/pretokenizers/0/pattern/Regex: ";
  return error.rfind(place, 0) == 0 ? error.substr(place.size()) : error;
}

// Oniguruma and PCRE2 would read each of these differently, or one of them not at all.
TEST(TokenizerFile, PatternsThatAreNotUnderstood) {
  const auto refused = [](const std::string& part) { return part + " is not understood in a regular expression"; };
  EXPECT_EQ(pattern_refusal("a\\w"), refused("\"\\\\w\""));
  for (const char* escape :
       {"\\W", "\\b", "\\B", "\\h", "\\R", "\\X", "\\A", "\\z", "\\G", "\\K", "\\Q", "\\1", "\\x", "\\C"})
    EXPECT_EQ(pattern_refusal(escape), refused("\"\\" + std::string(escape) + "\"")) << escape;
  EXPECT_EQ(pattern_refusal("a\\"), refused("\"\\\\\""));
  EXPECT_EQ(pattern_refusal("\\pL"), refused("\"\\\\pL\""));
  EXPECT_EQ(pattern_refusal("\\p{^L}"), refused("\"\\\\p{^L}\""));
  EXPECT_EQ(pattern_refusal("\\p{L"), refused("\"\\\\p{\""));
  EXPECT_EQ(pattern_refusal("\\p{}"), refused("\"\\\\p{}\""));
  EXPECT_EQ(pattern_refusal("\\u12G4"), refused("\"\\\\u12G4\""));
  EXPECT_EQ(pattern_refusal("[[:alpha:]]"), refused("\"[:\""));
  EXPECT_EQ(pattern_refusal("[a&&b]"), refused("\"&&\""));
  EXPECT_EQ(pattern_refusal("[]a]"), refused("\"]\""));
  EXPECT_EQ(pattern_refusal("[^]a]"), refused("\"]\""));
  EXPECT_EQ(pattern_refusal("[a"), "a character class of the regular expression does not end");
  EXPECT_EQ(pattern_refusal("(*FAIL)"), refused("\"(*\""));
  EXPECT_EQ(pattern_refusal("(?m:a)"), refused("\"(?m:\""));
  EXPECT_EQ(pattern_refusal("(?i)a"), refused("\"(?i)\""));
  EXPECT_EQ(pattern_refusal("(?<name>a)"), refused("\"(?<n\""));
  EXPECT_EQ(pattern_refusal("a{2}+"), refused("\"{2}+\""));
  EXPECT_EQ(pattern_refusal("a{2}?"), refused("\"{2}?\""));
  EXPECT_EQ(pattern_refusal("a{,2}"), refused("\"{,2}\""));
  EXPECT_EQ(pattern_refusal("a{x"), refused("\"{x\""));
  EXPECT_EQ(pattern_refusal("a{2,3}?[^\\S\\r]"), "no error");
}

TEST(TokenizerFile, PatternsThatPcre2DoesNotTake) {
  for (const char* pattern : {"(", ")", "a**", "[z-a]", "\\p{Nonsense}", "\\p{Alphabetic}", "(?<=a+)b", "*"})
    EXPECT_NE(refusal("/pre_tokenizer", sequence({split(pattern), bytes()})).find("the regular expression"),
              std::string::npos)
        << pattern;
}

TEST(TokenizerFile, Vocabularies) {
  EXPECT_EQ(without("/model/vocab"), "/model/vocab: the key is missing");
  EXPECT_EQ(refusal("/model/vocab", json::array()), "/model/vocab: expected an object, found an array");
  EXPECT_EQ(refusal("/model/vocab/ab", -1), "/model/vocab/ab: -1 is below 0");
  EXPECT_EQ(refusal("/model/vocab/ab", "7"), "/model/vocab/ab: expected an integer, found \"7\"");
  EXPECT_EQ(refusal("/model/vocab/ab", 1 << 22), "/model/vocab/ab: 4194304 is above 4194303");
  EXPECT_EQ(refusal("/model/vocab/abc", 256), "/model/vocab/abc: id 256 is another token's, too");
  EXPECT_EQ(without("/model/vocab/a"),
            "/model/vocab: there is no token for byte 97 | only vocabularies with all bytes are computed");
  EXPECT_EQ(refusal("/model/vocab/ab", 1000), "no error");  // ids may have holes
}

TEST(TokenizerFile, Merges) {
  EXPECT_EQ(without("/model/merges"), "/model/merges: the key is missing");
  EXPECT_EQ(refusal("/model/merges", json::object()), "/model/merges: expected an array, found an object");
  EXPECT_EQ(refusal("/model/merges/1", 5), "/model/merges/1: expected two tokens, found 5");
  EXPECT_EQ(refusal("/model/merges/1", "ab"), "/model/merges/1: expected two tokens, found \"ab\"");
  EXPECT_EQ(refusal("/model/merges/1", "a b c"), "/model/merges/1: expected two tokens, found \"a b c\"");
  EXPECT_EQ(refusal("/model/merges/1", {"a"}), "/model/merges/1: expected two tokens, found an array");
  EXPECT_EQ(refusal("/model/merges/1", {"a", 1}), "/model/merges/1: expected two tokens, found an array");
  EXPECT_EQ(refusal("/model/merges/1", "ab d"), "/model/merges/1: \"abd\" is not in the vocabulary");
  EXPECT_EQ(refusal("/model/merges/1", "xy z"), "/model/merges/1: \"xy\" is not in the vocabulary");
}

TEST(TokenizerFile, AddedTokens) {
  const auto with = [](const std::string& key, const json& value) {
    json token = added_token(300, "<s>", true);
    token[key] = value;
    return refusal("/added_tokens", json::array({token}));
  };
  EXPECT_EQ(with("special", false), "no error");
  for (const char* key : {"single_word", "lstrip", "rstrip"})
    EXPECT_EQ(with(key, true), std::string("/added_tokens/0/") + key + ": true is not computed");
  EXPECT_EQ(with("normalized", true), "no error");
  EXPECT_EQ(with("content", ""), "/added_tokens/0/content: the token is empty");
  EXPECT_EQ(with("id", -1), "/added_tokens/0/id: -1 is below 0");
  EXPECT_EQ(with("id", 97), "/added_tokens/0/id: 97 is not the id that the vocabulary gives to \"<s>\"");
  EXPECT_EQ(with("content", "ab"), "/added_tokens/0/id: 300 is not the id that the vocabulary gives to \"ab\"");
  EXPECT_EQ(refusal("/added_tokens", {added_token(300, "x1", true), added_token(300, "x2", true)}),
            "/added_tokens/1/id: 300 is not the id that the vocabulary gives to \"x2\"");
  EXPECT_EQ(refusal("/added_tokens", {added_token(300, "x1", true), added_token(301, "x1", true)}),
            "/added_tokens/1/content: \"x1\" is added twice");
}

}  // namespace
}  // namespace afore::nn
