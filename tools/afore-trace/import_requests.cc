// azure-csv, mooncake: who arrives when and with how many tokens. What experts the tokens take comes from recorded
// routing: the trace has none.
#include <fmt/core.h>

#include <set>

#include "common/request_trace.h"
#include "import.h"
#include "routing_inputs.h"
#include "stream_out.h"
#include "util/error.h"
#include "util/rng.h"

namespace afore::cli {
namespace {

std::vector<wire::TracedRequest> load_trace(const ImportOptions& o) {
  if (o.inputs.size() != 1)
    throw Error(ErrorKind::usage, fmt::format("--from {} takes one FILE", o.from), "--routing names routing files");
  return load_request_trace(o.inputs[0], o.from == "mooncake" ? TraceForm::mooncake : TraceForm::azure_csv,
                            {o.start_s, o.window_s, o.requests, o.rate_scale});
}

RoutingInputs load_routing(const ImportOptions& o) {
  if (o.routing.empty())
    throw Error(ErrorKind::usage, "a trace of requests has no routing", "give --routing FILE --meta FILE");
  ImportOptions routing = o;
  routing.inputs = o.routing;
  return load_routing_inputs(routing);
}

JsonObject workload_of(const ImportOptions& o, std::size_t requests, const RoutingInputs& inputs) {
  JsonObject workload;
  workload.add("form", o.from).add("requests", requests).add("rate_scale", o.rate_scale.value_or(1));
  if (o.start_s) workload.add("start_s", *o.start_s);
  if (o.window_s) workload.add("window_s", *o.window_s);
  workload.add("routing_model", inputs.routing_model).add_raw("domains", json_array(inputs.domains));
  workload.add("sequences", inputs.requests.size());
  workload.add("draw", "each request a sequence and an offset in it, uniformly, seeded");
  workload.add("prefill", "prompt tokens read recorded rows too");
  workload.add("wrap", "a request longer than its sequence reads it again from its start");
  return workload;
}

SequenceRecord sequence_record(const RoutingInputs& inputs, std::size_t index, const std::vector<int>& recorded) {
  const batch::Request& source = inputs.requests[index];
  SequenceRecord sequence;
  sequence.id = fmt::format("s{}", index);
  sequence.tokens = source.tokens;
  sequence.prompt_tokens = source.prompt_tokens;
  for (std::int64_t t = 0; t < source.tokens; ++t)
    for (const int layer : recorded) {
      const auto ids = inputs.tables[source.pool].experts_of(source.first_row + t, layer);
      sequence.experts.insert(sequence.experts.end(), ids.begin(), ids.end());
    }
  return sequence;
}

void write_sequence(RecordSink& out, const SequenceRecord& sequence) {
  const std::string line = wire::to_json(sequence);
  if (line.size() > kMaxLineBytes)
    throw Error(ErrorKind::data,
                fmt::format("recorded request {} has {} tokens: its record would be a line over 16 MiB", sequence.id,
                            sequence.tokens),
                "keep fewer --layers");
  out.write_line(line);
}

}  // namespace

void import_requests(const ImportOptions& options) {
  RoutingInputs inputs = load_routing(options);
  const std::vector<wire::TracedRequest> trace = load_trace(options);
  const std::vector<int> recorded = select_layers(inputs.model, options.layers);
  keep_layers(inputs.model, recorded);
  warn_of_unknown_sizes(inputs.model);
  RecordSink out(options.output);
  const auto seed = static_cast<std::uint64_t>(options.seed);
  write_header(out, make_header("requests", seed, inputs.model, options.microbatches),
               workload_of(options, trace.size(), inputs));
  Rng draw(seed, "requests/sequence");
  std::set<std::size_t> written;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const auto index = static_cast<std::size_t>(draw.below(inputs.requests.size()));
    const auto offset = static_cast<std::int64_t>(draw.below(inputs.requests[index].tokens));
    if (written.insert(index).second) write_sequence(out, sequence_record(inputs, index, recorded));
    out.write_line(wire::to_json(RequestRecord{fmt::format("r{}", i), trace[i].at_ns, trace[i].prompt_tokens,
                                               trace[i].output_tokens, fmt::format("s{}", index), offset}));
  }
  out.finish();
}

}  // namespace afore::cli
