// sequence and request records, base64, and the traces that requests are imported from.
#include "wire/base64.h"
#include "wire_test_util.h"

namespace afore::wire {
namespace {

// Two tokens of small_header()'s model: 2 x 3 layers x top-2.
SequenceRecord small_sequence() { return {"s0", 2, 7, {0, 1, 1, 2, 2, 3, 3, 0, 0, 2, 1, 3}}; }
const std::string kSequence =
    R"({"kind":"sequence","id":"s0","tokens":2,"prompt_tokens":7,"experts":"AAEBAgIDAwAAAgED"})";
const std::string kRequest =
    R"({"kind":"request","id":"r0","arrival_ns":5,"prompt_tokens":3,"output_tokens":1,"sequence":"s0","offset":1})";

TEST(Requests, RoundTrip) {
  RecordDecoder decoder = small_decoder();
  EXPECT_EQ(to_json(small_sequence()), kSequence);
  const auto sequence = std::get<SequenceRecord>(decoder.decode(kSequence, 2));
  EXPECT_EQ(to_json(sequence), kSequence);
  EXPECT_EQ(sequence.experts, small_sequence().experts);
  EXPECT_EQ(sequence.prompt_tokens, 7);
  const auto request = std::get<RequestRecord>(decoder.decode(kRequest, 3));
  EXPECT_EQ(to_json(request), kRequest);
  EXPECT_EQ(request.arrival_ns, 5);
  EXPECT_EQ(request.offset, 1);
}

TEST(Requests, CompletionsSayWhenAndWhy) {
  Completion done{"r0", 3, 2, "length", {}, "", "", CompletionTimes{5, 7, 9}};
  const std::string line =
      R"({"kind":"completion","id":"r0","prompt_tokens":3,"output_tokens":2,"finish_reason":"length",)"
      R"("arrival_ns":5,"first_token_ns":7,"finished_ns":9,"token_ids":[],"text":""})";
  EXPECT_EQ(to_json(done), line);
  RecordDecoder decoder("stdin");
  EXPECT_EQ(to_json(std::get<Completion>(decoder.decode(line, 1))), line);
  done = {"r1", 3, 0, "rejected", {}, "", "queue_full", CompletionTimes{5, {}, 5}};
  const std::string rejected = to_json(done);
  EXPECT_NE(rejected.find(R"("reject_reason":"queue_full","arrival_ns":5,"first_token_ns":null,"finished_ns":5)"),
            std::string::npos);
  EXPECT_EQ(to_json(std::get<Completion>(decoder.decode(rejected, 2))), rejected);
  EXPECT_EQ(error_alone(replaced(line, R"("finished_ns":9)", R"("finished_ns":6)")),
            "stdin:1: /finished_ns: finished_ns 6 is below 7");
}

std::string error_of_sequence(const std::string& from, const std::string& to) {
  return error_after_header(replaced(kSequence, from, to));
}

TEST(Requests, SequencesAreRefused) {
  EXPECT_EQ(error_alone(kSequence),
            "stdin:1: the shape of a sequence is not known | the header must have the model's experts, top_k and "
            "moe_layers");
  EXPECT_EQ(error_of_sequence(R"("tokens":2)", R"("tokens":3)"),
            "stdin:2: /experts: there are 12 ids, not 3 tokens x 3 MoE layers x top_k 2");
  EXPECT_EQ(error_of_sequence(R"("tokens":2)", R"("tokens":0)"), "stdin:2: /tokens: tokens 0 is below 1");
  for (const char* text :
       {"AAEBAgIDAwAAAgE", "AAEBAgIDAwAAAgE=", "AAEBAgIDAwAAAg=D", "AAEBAgIDAwAA gED", "AAEB\\nAgIDAwAAAgED"}) {
    const std::string error = error_of_sequence("AAEBAgIDAwAAAgED", text);
    EXPECT_TRUE(error.starts_with("stdin:2: /experts: ")) << text << ": " << error;
  }
  EXPECT_EQ(error_of_sequence("AAEBAgIDAwAAAgED", "AAEBAgIEAwAAAgED"),
            "stdin:2: /experts: id 5 is expert 4, the model has 4");
  EXPECT_EQ(error_of_sequence("AAEBAgIDAwAAAgED", "AAEBAgIDAwAAAgEB"),
            "stdin:2: /experts: token 1 chooses expert 1 twice in one layer");
  Header wide = small_header();
  wide.model.experts = 257;
  RecordDecoder decoder("stdin");
  decoder.decode(to_json(wide), 1);
  EXPECT_EQ(error_of([&] { decoder.decode(kSequence, 2); }),
            "stdin:2: the model has 257 experts | sequences hold ids of one byte: at most 256 experts");
}

TEST(Requests, RequestsAreRefused) {
  RecordDecoder decoder = small_decoder();
  const auto refused = [&](const std::string& line) { return error_of([&] { decoder.decode(line, 9); }); };
  EXPECT_EQ(refused(kRequest),
            "stdin:9: /sequence: no sequence before has the id \"s0\" | a sequence record stands "
            "before the first request that names it");
  decoder.decode(kSequence, 2);
  EXPECT_EQ(refused(kSequence), "stdin:9: /id: a sequence before has the id \"s0\"");
  EXPECT_EQ(refused(replaced(kRequest, R"("offset":1)", R"("offset":2)")),
            "stdin:9: /offset: offset 2 is not below the sequence's 2 tokens");
  EXPECT_EQ(refused(replaced(kRequest, R"("prompt_tokens":3)", R"("prompt_tokens":0)")),
            "stdin:9: /prompt_tokens: prompt_tokens 0 is below 1");
  EXPECT_EQ(refused(replaced(kRequest, R"("output_tokens":1)", R"("output_tokens":0)")),
            "stdin:9: /output_tokens: output_tokens 0 is below 1");
  decoder.decode(kRequest, 3);
  EXPECT_EQ(refused(kRequest), "stdin:9: /id: a request before has the id \"r0\"");
  EXPECT_EQ(refused(replaced(replaced(kRequest, "r0", "r1"), R"("arrival_ns":5)", R"("arrival_ns":4)")),
            "stdin:9: /arrival_ns: the request arrives at 4 ns, the one before it at 5 | requests stand in the order "
            "of their arrival");
  // A refused line changes nothing.
  decoder.decode(replaced(kRequest, "r0", "r1"), 4);
}

TEST(Base64, EveryLength) {
  std::vector<std::uint8_t> bytes, back;
  const char* const texts[] = {"", "+A==", "+P8=", "+P8A", "+P8ABw=="};
  const std::uint8_t values[] = {0xf8, 0xff, 0x00, 0x07};
  for (std::size_t n = 0; n <= 4; ++n) {
    std::string text;
    append_base64(text, bytes);
    EXPECT_EQ(text, texts[n]);
    EXPECT_TRUE(decode_base64(text, back));
    EXPECT_EQ(back, bytes);
    if (n < 4) bytes.push_back(values[n]);
  }
  for (const char* bad : {"A", "AA", "AAA", "A===", "====", "+B==", "+P9=", "AA=A", "AAA=AAAA", "AA-A", " AAA"})
    EXPECT_FALSE(decode_base64(bad, back)) << bad;
}

std::vector<std::uint8_t> bytes_of(std::string_view text) { return {text.begin(), text.end()}; }

std::vector<TracedRequest> azure(const std::string& rows) {
  return parse_azure_csv(bytes_of("TIMESTAMP,ContextTokens,GeneratedTokens\r\n" + rows), "t.csv");
}

TEST(Traces, Azure) {
  const auto requests = azure("2023-11-16 23:59:59.9799600,4808,10\r\n2023-11-17 00:00:00+00:00,3,7");
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].prompt_tokens, 4808);
  EXPECT_EQ(requests[0].output_tokens, 10);
  EXPECT_EQ(requests[1].at_ns - requests[0].at_ns, 20'040'000);
  EXPECT_EQ(requests[1].at_ns, Nanos{1'700'179'200} * 1'000'000'000);
}

TEST(Traces, AzureIsRefused) {
  const auto error = [](const std::string& rows) { return error_of([&] { azure(rows); }); };
  const std::string times = " | times look like 2023-11-16 18:17:03.9799600";
  for (const char* time : {"2023-11-16T18:17:03", "2023-02-29 00:00:00", "2023-11-16 24:00:00", "2023-11-16 18:17:03.",
                           "2023-11-16 18:17:03.1234567890", "2023-11-16 18:17:03.99999999999999999999",
                           "2023-11-16 18:17:03 +01:00", "16.11.2023", ""})
    EXPECT_EQ(error(std::string(time) + ",1,1\n"), "t.csv:2: TIMESTAMP: not a time" + times) << time;
  EXPECT_EQ(error("2023-11-16 18:00:01,1,1\n2023-11-16 18:00:00,1,1\n"),
            "t.csv:3: TIMESTAMP: the request arrives before the one above it | sort the rows by TIMESTAMP");
  EXPECT_EQ(error("2023-11-16 18:00:01,0,1\n"), "t.csv:2: ContextTokens: 0 is not between 1 and 4294967296");
}

TEST(Traces, Mooncake) {
  const TracedRequest request = parse_mooncake_line(
      R"({"timestamp": 3001, "input_length": 6758, "output_length": 500, "hash_ids": [0, 1]})", "m.jsonl", 4);
  EXPECT_EQ(request.at_ns, 3'001'000'000);
  EXPECT_EQ(request.prompt_tokens, 6758);
  EXPECT_EQ(request.output_tokens, 500);
  EXPECT_EQ(
      error_of([] { parse_mooncake_line(R"({"timestamp":1,"input_length":0,"output_length":1})", "m.jsonl", 4); }),
      "m.jsonl:4: /input_length: input_length 0 is below 1");
}

}  // namespace
}  // namespace afore::wire
