// Demand lines have two readers, and nobody can tell which one read a line: the same records, the same refusals, the
// same decoder afterwards.
#include "wire/demand_line.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <numeric>
#include <sstream>

#include "json_cases.h"
#include "wire_test_util.h"

namespace afore::wire {
namespace {

std::string encoded(const Record& record) {
  return std::visit(
      [](const auto& value) -> std::string {
        if constexpr (std::is_same_v<std::decay_t<decltype(value)>, UnknownRecord>) return "unknown " + value.kind;
        else return to_json(value);
      },
      record);
}

// Two decoders side by side: one reads every line by the tree, the other as tools do.
class Pair {
 public:
  explicit Pair(ReadOptions options) : tree_("stdin", options), direct_("stdin", options) {}

  // What both say to the line.
  std::string feed(const std::string& line) {
    ++number_;
    std::string by_tree, by_line;
    const std::string tree_error = error_of([&] { by_tree = encoded(tree_.decode(line, number_)); });
    const std::string before = encoded(record_);
    const std::string line_error = error_of([&] { direct_.decode(line, number_, record_); });
    EXPECT_EQ(line_error, tree_error) << line;
    by_line = encoded(record_);
    if (line_error == "no error") EXPECT_EQ(by_line, by_tree) << line;
    else EXPECT_EQ(by_line, before) << line;
    return line_error == "no error" ? by_line : line_error;
  }

 private:
  RecordDecoder tree_, direct_;
  Record record_ = UnknownRecord{};
  std::int64_t number_ = 0;
};

std::vector<ReadOptions> all_options() { return {{false, std::nullopt}, {true, std::nullopt}, {false, 2}, {true, 2}}; }

// Each line alone, behind a header, and between demand records.
void feed_everywhere(const std::string& line) {
  for (const ReadOptions& options : all_options()) {
    Pair alone(options);
    alone.feed(line);
    alone.feed(kDemand);
    alone.feed(line);
    Pair behind(options);
    behind.feed(to_json(small_header()));
    behind.feed(line);
    behind.feed(kDemand);
    behind.feed(line);
  }
}

bool reads(const std::string& line, ReadOptions options = {}) {
  const Header header = small_header();
  Demand demand;
  return read_demand_line(line, {&header, &options, kAbsent}, demand);
}

// Otherwise the tests below would compare the tree with itself.
TEST(DemandLine, ReadsWhatIsWrittenAndEqualForms) {
  EXPECT_TRUE(reads(kDemand));
  EXPECT_TRUE(reads(replaced(kDemand, "decode", "warmup")));
  EXPECT_TRUE(reads(replaced(kDemand, "]}", "],\"dropped\":0}")));
  EXPECT_TRUE(reads("  " + replaced(replaced(kDemand, ",5,", " ,\t5, "), "[", "[ ") + " \r"));
  EXPECT_TRUE(reads(
      R"({"counts" : [0,5,1,2], "tokens":4, "microbatch":1 ,"phase":"mixed","layer":3,"step":17,"kind":"demand"})"));
  EXPECT_TRUE(reads(replaced(kDemand, "17", "123456789012345")));
  EXPECT_TRUE(reads(replaced(kDemand, "5,1,2]", "5,1,1],\"dropped\":1"), {true, std::nullopt}));
  EXPECT_TRUE(reads(replaced(kDemand, "5,1,2]", "5,1,1]"), {true, std::nullopt}));
}

TEST(DemandLine, LeavesTheRestToTheTree) {
  EXPECT_FALSE(reads(replaced(kDemand, "17", "1234567890123456")));
  EXPECT_FALSE(reads(replaced(kDemand, "step", "st\\u0065p")));
  EXPECT_FALSE(reads(replaced(kDemand, "step\"", "more\":1,\"step\"")));
  EXPECT_FALSE(reads(replaced(kDemand, "]}", "],\"tokens\":4}")));
  EXPECT_FALSE(reads(replaced(kDemand, "5,1,2]", "5,1,1]")));
  EXPECT_FALSE(reads(replaced(kDemand, "[0,", "[00,")));
  EXPECT_FALSE(reads(kDemand + "}"));
  const Header header = small_header();
  const ReadOptions options;
  Demand demand;
  EXPECT_FALSE(read_demand_line(kDemand, {nullptr, &options, kAbsent}, demand));
  EXPECT_TRUE(read_demand_line(kDemand, {nullptr, &options, 4}, demand));
  EXPECT_FALSE(read_demand_line(kDemand, {nullptr, &options, 5}, demand));
}

TEST(DemandLine, EveryPrefixAndEveryByte) {
  for (std::size_t size = 0; size < kDemand.size(); ++size) {
    Pair pair({});
    pair.feed(to_json(small_header()));
    pair.feed(kDemand.substr(0, size));
    for (int byte = 0; byte < 256; ++byte) {
      std::string line = kDemand;
      line[size] = static_cast<char>(byte);
      pair.feed(line);
    }
  }
}

// The texts that JSON readers are known to disagree about: as the line, and in the place of every value.
TEST(DemandLine, TheTableOfJsonCases) {
  for (const JsonCase& c : read_json_cases(AFORE_SOURCE_DIR "/tests/wire/json_cases.txt")) {
    Pair pair({});
    pair.feed(to_json(small_header()));
    pair.feed(c.text);
    for (const char* value : {"\"demand\"", "17", "3", ":1,", "\"decode\"", "4,", "[0,5,1,2]", "5", ",2"}) {
      const std::string from = value;
      std::string to = c.text;
      if (from.front() == ':') to = ":" + to;
      if (from.front() == ',') to = "," + to;
      if (from.back() == ',') to += ",";
      pair.feed(replaced(kDemand, from, to));
    }
    pair.feed(replaced(kDemand, "{", "{" + c.text + ":1,"));
    pair.feed(replaced(kDemand, "]}", "],\"more\":" + c.text + "}"));
    pair.feed(kDemand + c.text);
  }
}

TEST(DemandLine, TheCorpusOfTheFuzzer) {
  int lines = 0;
  for (const auto& entry : std::filesystem::directory_iterator(AFORE_SOURCE_DIR "/tests/fuzz/corpus/records")) {
    std::ifstream in(entry.path(), std::ios::binary);
    std::stringstream text;
    text << in.rdbuf();
    if (text.str().empty()) continue;
    for (const ReadOptions& options : all_options()) {
      Pair pair(options);
      std::istringstream stream(text.str().substr(1));
      for (std::string line; std::getline(stream, line); ++lines) pair.feed(line);
    }
  }
  EXPECT_GT(lines, 400);
}

// One of the changes that tell readers apart: bytes, pieces of records, the places of members, blanks, digits.
std::string mutated(std::string line, Random& random) {
  static constexpr std::array<const char*, 24> kPieces = {"0",
                                                          "-",
                                                          "1",
                                                          "9007199254740993",
                                                          "00",
                                                          ".5",
                                                          "e3",
                                                          "\"",
                                                          "\\u",
                                                          "[",
                                                          "]",
                                                          "{",
                                                          "}",
                                                          ",",
                                                          ":",
                                                          " ",
                                                          "\t",
                                                          "v",
                                                          "\"v\":1,",
                                                          "\"step\":3,",
                                                          "\"dropped\":1,",
                                                          "12345678",
                                                          "null",
                                                          "\"counts\":[0,5,1,2],"};
  const auto place = [&] { return static_cast<std::size_t>(random.below(static_cast<std::int64_t>(line.size()))); };
  for (std::int64_t changes = 1 + random.below(3); changes > 0 && !line.empty(); --changes) {
    switch (random.below(6)) {
      case 0: line[place()] = static_cast<char>(random.below(256)); break;
      case 1: line.erase(place(), static_cast<std::size_t>(1 + random.below(3))); break;
      case 2: line.insert(place(), kPieces[static_cast<std::size_t>(random.below(kPieces.size()))]); break;
      case 3: line[place()] = static_cast<char>('0' + random.below(10)); break;
      case 4: line.insert(place(), line.substr(place(), static_cast<std::size_t>(random.below(30)))); break;
      default: line.insert(place(), 1, " \t\r\n"[random.below(4)]); break;
    }
  }
  return line;
}

TEST(DemandLine, RandomMutations) {
  Random random(1);
  const std::string other = R"({ "counts":[12, 3,4 ,0], "phase":"prefill","kind":"demand","tokens":10,"step":0,)"
                            R"("dropped":1,"microbatch":0,"layer":1} )";
  int accepted = 0;
  for (int i = 0; i < 4000; ++i) feed_everywhere(mutated(i % 2 == 0 ? kDemand : other, random));
  for (int i = 0; i < 40'000; ++i) {
    Pair pair({i % 4 == 0, std::nullopt});
    pair.feed(to_json(small_header()));
    accepted += pair.feed(mutated(kDemand, random)).front() == '{' ? 1 : 0;
  }
  EXPECT_GT(accepted, 1000);
}

// Counts of every length, at every distance from the line's end, against digits of the standard library.
TEST(DemandLine, CountsOfEveryLength) {
  Random random(2);
  Header header = small_header();
  const ReadOptions options;
  for (int round = 0; round < 3000; ++round) {
    Demand demand;
    demand.target = {random.below(1000), 1, 0};
    header.model.experts = 1 + random.below(400);
    header.model.top_k = 1;
    std::string list;
    for (std::int64_t e = 0; e < header.model.experts; ++e) {
      std::int64_t end = 1;
      for (std::int64_t digits = random.below(11); digits > 0; --digits) end *= 10;
      demand.counts.push_back(random.below(end + 1));
      list += (e > 0 ? "," : "") + std::to_string(demand.counts.back());
    }
    demand.tokens = std::accumulate(demand.counts.begin(), demand.counts.end(), std::int64_t{0});
    const std::string line = to_json(demand);
    EXPECT_NE(line.find("\"counts\":[" + list + "]"), std::string::npos);
    Demand back;
    ASSERT_TRUE(read_demand_line(line, {&header, &options, kAbsent}, back)) << line;
    EXPECT_EQ(back.counts, demand.counts);
    EXPECT_EQ(to_json(back), line);
  }
}

TEST(DemandLine, IntegersAreWrittenInFull) {
  std::vector<std::int64_t> values = {0, 9, 10, 99, 100, 999, 1000, -1, -1000, kMaxInteger, -kMaxInteger};
  for (int i = 0; i < 300; ++i) values.push_back(kMaxInteger - i);
  Demand demand;
  demand.counts = values;
  std::string list;
  for (const std::int64_t value : values) list += (list.empty() ? "" : ",") + std::to_string(value);
  EXPECT_NE(to_json(demand).find("[" + list + "]"), std::string::npos);
  demand.counts.push_back(kMaxInteger + 1);
  EXPECT_EQ(error_of([&] { to_json(demand); }).substr(0, 53), "a value computed from the input is beyond 2^53 (count");
}

}  // namespace
}  // namespace afore::wire
