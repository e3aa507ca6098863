#pragma once
// Records as JSON lines (docs/records.md): strict reading, fixed key order writing. The only room that knows the
// format of the stream. Every error is one line: "stdin:17: /counts/3: count is negative".
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/records.h"

namespace afore::wire {

// Prompt and output of one request, each: far beyond any context, and small enough that sums stay in range.
inline constexpr std::int64_t kMaxRequestTokens = std::int64_t{1} << 32;

struct ReadOptions {
  bool allow_drop = false;  // accept counts that sum to less than tokens*top_k, with "dropped" saying how many
  std::optional<std::int64_t> top_k;  // from flags, for streams without a header
};

// Decodes lines one by one and checks what one line alone cannot show: the header comes first, later headers are
// equal, layers and expert counts agree with it, demand sums to tokens*top_k.
class RecordDecoder {
 public:
  explicit RecordDecoder(std::string source_name, ReadOptions options = {});
  ~RecordDecoder();
  RecordDecoder(RecordDecoder&&) noexcept;
  RecordDecoder& operator=(RecordDecoder&&) noexcept;

  // `line` without LF. Throws Error{data} naming source, line, JSON path, fact and hint; state is then unchanged.
  Record decode(std::string_view line, std::int64_t line_number);
  // The same into `record`, whose buffers are reused: nothing is allocated from one demand record to the next. After an
  // error `record` is as it was.
  void decode(std::string_view line, std::int64_t line_number, Record& record);

  // The header seen so far (merged), if any.
  const std::optional<Header>& header() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// One JSON object, no LF. Fixed key order, integers for counts and times, shortest round-trip floats.
std::string to_json(const Header&);
std::string to_json(const Batch&);
std::string to_json(const Demand&);
std::string to_json(const Routing&);
std::string to_json(const Prediction&);
std::string to_json(const PlacementRecord&);
std::string to_json(const Plan&);
std::string to_json(const Observed&);
std::string to_json(const Operation&);
std::string to_json(const Membership&);
std::string to_json(const SequenceRecord&);
std::string to_json(const RequestRecord&);
std::string to_json(const Completion&);
std::string to_json(const Summary&);
// The same at the end of `out`, for a caller that keeps its buffer: the two kinds that there is one of per target.
void append_json(std::string& out, const Demand&);
void append_json(std::string& out, const Plan&);

// The header line with the keys of `gained` that `line` lacks, and one entry more in "via"; everything else as it
// was, unknown keys and order included. A value of `gained` that contradicts a present one is Error{usage}: the flag
// that set it is wrong for this stream.
std::string extend_header(std::string_view line, const Header& gained, const std::string& via);

// The header line without its "planner" object: for planning a planned stream anew, before extend_header.
std::string without_planner(std::string_view line);

// The numbers of a summary line by key, in written order: those of serving benchmarks, then those under "afore"
// (plan_ns as plan_ns.mean, plan_ns.p50, plan_ns.p99). nullopt where the line has null or no such key, which Summary
// does not tell from 0 for its counts. Error{data}, as the decoder.
struct SummaryNumber {
  std::string key;
  std::optional<double> value;
};
std::vector<SummaryNumber> summary_numbers(std::string_view line);

// Cost files: a JSON object with the keys of HardwareProfile (docs/metrics.md), strict; unknown keys are errors.
HardwareProfile parse_cost_file(std::string_view text, const std::string& source_name);
std::string to_json(const HardwareProfile&);

// Foreign inputs of afore-trace import.
struct RoutingIdsMeta {  // META.json beside an .ids.u8 file
  std::string model_name;
  int layers = 0, experts = 0, top_k = 0;
  std::int64_t tokens = 0;
  std::vector<int> moe_layers;  // empty when the file does not say
  struct Request {
    std::int64_t prompt_tokens = 0;
    std::int64_t tokens = 0;
    std::int64_t offset = 0;
  };
  std::vector<Request> requests;  // in file order; from "requests" or "seq_lens"
};
RoutingIdsMeta parse_routing_ids_meta(std::string_view text, const std::string& source_name);

// A request of a public trace: when it arrived, counted from anywhere, and how many tokens it had, both positive.
struct TracedRequest {
  Nanos at_ns = 0;
  std::int64_t prompt_tokens = 0, output_tokens = 0;
};
// Azure LLM inference traces: TIMESTAMP,ContextTokens,GeneratedTokens; 100 ns precision, UTC.
std::vector<TracedRequest> parse_azure_csv(std::vector<std::uint8_t> bytes, const std::string& source_name);
// Mooncake, one line: timestamp (ms), input_length, output_length; hash_ids are not read.
TracedRequest parse_mooncake_line(std::string_view line, const std::string& source_name, std::int64_t line_number);

}  // namespace afore::wire
