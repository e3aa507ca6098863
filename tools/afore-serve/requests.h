#pragma once
// Streams of requests: what their flags mean, and the reading of sequences and requests for a closed loop.
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "afore-serve/replay.h"
#include "common/options.h"
#include "common/record_stream.h"
#include "host/closed_loop.h"
#include "report/run_data.h"
#include "util/stop_flag.h"

namespace afore::serve {

// `usual_cache`: what --kv-budget-tokens is where nobody gives it.
void add_request_flags(cli::Command app, RequestFlags& flags, const char* usual_cache);

// A stream whose header says that its requests are still to be served. One that was (its header has a planner) has the
// demand and the plans of that run, and is a stream of targets.
bool is_request_stream(const std::optional<Header>& header);

// Error{usage} when the stream is one of targets and a flag for requests was given.
void refuse_request_flags(const RequestFlags& flags);
// Error{usage}: predictors read the routing of recorded targets.
void refuse_predictor(const cli::PlanningFlags& flags);

// What the flags for requests say; Error{usage} for flags that contradict each other. Without --kv-budget-tokens that
// is the model's (kv_budget_tokens()).
host::ServingLoopOptions serving_loop_options(const RequestFlags& flags, const cli::Setup& setup);

// What --goodput asks for. Error{usage}.
pipeline::ServiceObjectives service_objectives(const RequestFlags& flags);

// Error{usage} for flags that contradict each other, Error{data} when the header does not describe the model.
host::ClosedLoopOptions closed_loop_options(const ServeFlags& flags, const cli::Setup& setup);

// afore-serve replay of such a stream, whose header was read last. `report`: sees every record of the output and all
// operations; may be null.
void replay_requests(const ServeFlags& flags, cli::RecordStream& stream, ByteWriter& out, report::RunData* report,
                     const StopFlag* interrupted);

// Requests of a stream with their sequences, which are kept. Other lines pass: they have no part in the run.
class RequestFeed {
 public:
  using Pass = std::function<void(std::string_view raw, std::string_view kind)>;
  RequestFeed(cli::RecordStream& stream, Pass pass) : stream_(stream), pass_(std::move(pass)) {}
  bool next(host::IncomingRequest& request);  // false at the end

 private:
  cli::RecordStream& stream_;
  Pass pass_;
  std::map<std::string, std::shared_ptr<const SequenceRecord>> sequences_;
};

}  // namespace afore::serve
