// afore-serve replay of a stream of requests: the input's lines as they are read, and between them what the closed loop
// does, in its order.
#include "afore-serve/requests.h"
#include "afore-serve/setup.h"
#include "common/cli.h"
#include "host/finite_requests.h"
#include "util/error.h"

namespace afore::serve {

void replay_requests(const ServeFlags& flags, cli::RecordStream& stream, ByteWriter& out, report::RunData* report,
                     const StopFlag* interrupted) {
  const auto wants = [&](std::string_view kind) { return flags.only.empty() || flags.only == kind; };
  const auto emit = [&](const char* kind, const auto& record) {
    if (wants(kind)) out.write_line(wire::to_json(record));
    if constexpr (requires { report->add(record); })
      if (report != nullptr) report->add(record);
  };
  if (flags.planning.policy.empty())
    throw Error(ErrorKind::usage, "the stream has requests, and nobody plans for them", "give --policy POLICY");
  refuse_predictor(flags.planning);
  cli::Setup setup = resolve(flags, stream.header(), "afore");
  cli::plan_without_predictions(setup);
  const std::string header(stream.raw());  // looking ahead reads on
  if (report != nullptr) report->add(run_header(*stream.header(), cli::gained(setup, true)));
  cli::find_initial_maps(flags.planning, stream, {&setup.planner.policy, 1}, false, setup);
  const host::ClosedLoopOptions options = closed_loop_options(flags, setup);
  if (wants("header"))
    out.write_line(wire::extend_header(header, cli::gained(setup, true), cli::producer("afore-serve")));

  host::ClosedLoopSink sink;
  sink.planned = [&](const Batch* batch, const Demand& demand, const pipeline::PlannedTarget& planned) {
    if (batch != nullptr) emit("batch", *batch);
    emit("demand", demand);
    if (planned.before) emit("placement", *planned.before);
    emit("plan", planned.plan);
    if (planned.completed) emit("placement", *planned.completed);
  };
  sink.replanned = [&](const pipeline::PlannedTarget& planned) {
    if (planned.before) emit("placement", *planned.before);
    emit("plan", planned.plan);
  };
  sink.membership = [&](const Membership& membership) { emit("membership", membership); };
  sink.observed = [&](const Observed& observed) { emit("observed", observed); };
  if (flags.timeline) sink.operation = [&](const Operation& operation) { emit("operation", operation); };
  else if (report != nullptr) sink.operation = [&](const Operation& operation) { report->add(operation); };
  sink.completion = [&](const Completion& completion) { emit("completion", completion); };

  RequestFeed feed(stream, [&](std::string_view raw, std::string_view kind) {
    if (wants(kind)) out.write_line(raw);
    if (report != nullptr) report->see(stream.record());
  });
  host::ClosedLoop loop(options, std::move(sink));
  const auto finish = [&](bool cut) {
    Summary summary = loop.summary();
    summary.producer = cli::producer("afore-serve");
    summary.interrupted = cut;
    summary.notes["cost"] = setup.profile.name;
    emit("summary", summary);
    out.finish();
  };
  bool cut = false;
  try {
    host::FiniteRequests source([&](host::IncomingRequest& request) { return feed.next(request); });
    cut = loop.run(source, interrupted);
    // Requests that would arrive after the run's end are still lines of the input.
    for (host::IncomingRequest late; !cut && feed.next(late);) {
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::interrupted) finish(true);
    else if (error.kind() != ErrorKind::io) out.flush();
    throw;
  }
  finish(cut);
  if (cut) throw Error(ErrorKind::interrupted, "interrupted");
}

}  // namespace afore::serve
