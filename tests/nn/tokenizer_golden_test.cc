// Ids that other implementations give: tokenizers (data/golden_ids.json), tiktoken (TestPlans.txt), and those that the
// bundled model's reference was computed with.
#include <map>

#include "tokenizer_test_util.h"

namespace afore::nn {
namespace {

TEST(GoldenIds, OfTokenizers) {
  json base = json_of(kTinyFolder / "tokenizer.json");
  const json golden = json_of(AFORE_SOURCE_DIR "/tests/nn/data/golden_ids.json");
  ASSERT_EQ(golden["cases"].size(), 18u);
  for (const json& expected : golden["cases"]) {
    SCOPED_TRACE(expected["name"].get<std::string>());
    json file = base;
    for (const char* key : {"normalizer", "pre_tokenizer", "added_tokens"})
      if (expected.contains(key)) file[key] = expected[key];
    file["model"]["ignore_merges"] = expected.value("ignore_merges", false);
    const Tokenizer tokenizer = tokenizer_of(file);
    for (std::size_t i = 0; i < expected["texts"].size(); ++i) {
      const std::string text = expected["texts"][i];
      EXPECT_EQ(tokenizer.encode(text), expected["ids"][i].get<Ids>()) << text;
      if (!expected.contains("decoded")) continue;
      EXPECT_EQ(tokenizer.decode(expected["ids"][i].get<Ids>()), expected["decoded"][i].get<std::string>());
    }
  }
}

TEST(GoldenIds, OfTheBundledModel) {
  const Tokenizer tokenizer(kTinyFolder);
  EXPECT_EQ(tokenizer.size(), 4068);
  const json reference = json_of(kTinyFolder / "golden/reference.json");
  ASSERT_EQ(reference.size(), 8u);
  for (const json& prompt : reference) {
    EXPECT_EQ(tokenizer.encode(prompt["text"].get<std::string>()), prompt["ids"].get<Ids>());
    std::string text = prompt["greedy_text"];  // with special tokens, which decode() leaves out
    for (const char* special : {"<|user|>", "<|assistant|>", "<|endoftext|>"}) text = replace_all(text, special, "");
    EXPECT_EQ(tokenizer.decode(prompt["greedy_ids"].get<Ids>()), text);
  }
}

struct Plan {
  std::string text;
  Ids ids;
};

// "EncodingName: …", "Sample: …", "Encoded: [...]", an empty line; samples may have line ends themselves.
std::vector<Plan> plans_of(const std::string& file, const std::string& encoding) {
  std::vector<Plan> plans;
  const std::string head = "EncodingName: " + encoding + "\nSample: ";
  for (std::size_t at = 0; (at = file.find(head, at)) != file.npos;) {
    at += head.size();
    const std::size_t end = file.find("\nEncoded: ", at), list = end + 10, list_end = file.find(']', list);
    plans.push_back({file.substr(at, end - at), json::parse(file.substr(list, list_end + 1 - list)).get<Ids>()});
  }
  return plans;
}

std::string from_base64(std::string_view text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const char* const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char* const digit = std::char_traits<char>::find(digits, 64, c);
    if (digit == nullptr) break;
    bits = bits << 6 | static_cast<std::uint32_t>(digit - digits);
    if ((held += 6) < 8) continue;
    held -= 8;
    bytes += static_cast<char>(bits >> held);
  }
  return bytes;
}

std::string spelt(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += character_of(static_cast<unsigned char>(byte));
  return text;
}

using Ranks = std::map<std::string, int>;

Ranks tiktoken_ranks(const std::filesystem::path& path) {
  Ranks ranks;
  const std::string text = text_of(path);
  for (std::size_t at = 0, end; at < text.size(); at = end + 1) {
    end = std::min(text.find('\n', at), text.size());
    const std::string line = text.substr(at, end - at);
    ranks[from_base64(line.substr(0, line.find(' ')))] = std::stoi(line.substr(line.find(' ') + 1));
  }
  return ranks;
}

// The two parts that tiktoken's algorithm, stopped below the token's own rank, leaves of it: its merge.
std::pair<std::string, std::string> parts_of(const std::string& token, int rank, const Ranks& ranks) {
  std::vector<std::string> parts;
  for (const char byte : token) parts.emplace_back(1, byte);
  while (parts.size() > 2) {
    std::size_t best = parts.size();
    int best_rank = rank;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
      const auto found = ranks.find(parts[i] + parts[i + 1]);
      if (found != ranks.end() && found->second < best_rank) best = i, best_rank = found->second;
    }
    if (best == parts.size()) break;
    parts[best] += parts[best + 1];
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(best) + 1);
  }
  EXPECT_EQ(parts.size(), 2u) << token;
  return {parts[0], parts[1]};
}

json gpt2_tokenizer(const json& vocab, const json& merges) {
  json file = small_tokenizer();
  file["pre_tokenizer"]["use_regex"] = true;
  file["model"]["vocab"] = vocab;
  file["model"]["merges"] = merges;
  return file;
}

void check_plans(const Tokenizer& tokenizer, const std::filesystem::path& file) {
  const std::vector<Plan> plans = plans_of(text_of(file), "r50k_base");
  ASSERT_EQ(plans.size(), 64u);
  for (const Plan& plan : plans) {
    EXPECT_EQ(tokenizer.encode(plan.text), plan.ids) << plan.text;
    EXPECT_EQ(tokenizer.decode(plan.ids), plan.text);
  }
}

TEST(GoldenIds, OfTiktokenRanks) {
  const std::filesystem::path folder = real_inputs() / "data/tokenizers/tiktoken";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "skipped: no real inputs (AFORE_SHARED)";
  const Ranks ranks = tiktoken_ranks(folder / "r50k_base.tiktoken");
  ASSERT_EQ(ranks.size(), 50256u);
  json vocab, merges = json::array();
  std::map<int, std::pair<std::string, std::string>> by_rank;
  for (const auto& [token, rank] : ranks) {
    vocab[spelt(token)] = rank;
    if (token.size() > 1) by_rank[rank] = parts_of(token, rank, ranks);
  }
  for (const auto& [rank, parts] : by_rank) merges.push_back({spelt(parts.first), spelt(parts.second)});
  check_plans(tokenizer_of(gpt2_tokenizer(vocab, merges)), folder / "TestPlans.txt");
}

// The same vocabulary as OpenAI published it first: merges as lines of text, behind a "#version" line.
TEST(GoldenIds, OfGpt2Files) {
  const std::filesystem::path folder = real_inputs() / "data/tokenizers";
  if (!std::filesystem::is_directory(folder)) GTEST_SKIP() << "skipped: no real inputs (AFORE_SHARED)";
  json merges = json::array();
  const std::string lines = text_of(folder / "gpt2/vocab.bpe");
  for (std::size_t at = 0, end; at < lines.size(); at = end + 1) {
    end = std::min(lines.find('\n', at), lines.size());
    merges.push_back(lines.substr(at, end - at));
  }
  ASSERT_EQ(merges.size(), 50001u);
  json file = gpt2_tokenizer(json_of(folder / "gpt2/encoder.json"), merges);
  file["added_tokens"].push_back(added_token(50256, "<|endoftext|>", true, true));
  const Tokenizer tokenizer = tokenizer_of(file);
  EXPECT_EQ(tokenizer.size(), 50257);
  EXPECT_EQ(tokenizer.encode("hello<|endoftext|>"), (Ids{31373, 50256}));
  check_plans(tokenizer, folder / "tiktoken/TestPlans.txt");
}

}  // namespace
}  // namespace afore::nn
