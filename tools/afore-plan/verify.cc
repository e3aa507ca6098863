#include "afore-plan/verify.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "afore-plan/counted.h"
#include "common/cli.h"
#include "common/record_stream.h"
#include "util/error.h"
#include "util/line_io.h"
#include "verify/verify.h"
#include "wire/json_writer.h"
#include "wire/wire.h"

namespace afore::plan {
namespace {

struct VerifyOptions {
  std::string file = "-", recover = "tail";
  bool json = false;
};

std::string text_of(const verify::Verifier::Counts& counts) {
  std::string text =
      fmt::format("ok: {}, {}, {} certified, {} checked", counted(counts.plans, "plan", "plans"),
                  counted(counts.copies, "copy", "copies"), counts.certified, counted(counts.cuts, "cut", "cuts"));
  if (counts.observed > 0) text += fmt::format(", {} observed", counts.observed);
  return text;
}

// `violation`: empty when there is none.
std::string json_of(const verify::Verifier::Counts& counts, std::string_view violation) {
  std::string text;
  wire::JsonWriter json(text);
  json.open('{');
  json.string("kind", "verification");
  json.integer("v", kRecordVersion);
  json.string("producer", cli::producer("afore-plan"));
  json.boolean("ok", violation.empty());
  json.integer("demands", counts.demands);
  json.integer("plans", counts.plans);
  json.integer("copies", counts.copies);
  json.integer("certified", counts.certified);
  json.integer("cuts", counts.cuts);
  json.integer("observed", counts.observed);
  json.string_or_null("violation", violation);
  json.close('}');
  return text;
}

void put(const VerifyOptions& o, const verify::Verifier& verifier, std::string_view violation) {
  if (!o.json && !violation.empty()) return;  // it is the message
  ByteWriter out("-");
  out.write_line(o.json ? json_of(verifier.counts(), violation) : text_of(verifier.counts()));
  out.finish();
}

// What is lost with a worker is not in the stream, and without it nothing can be checked.
void refuse_membership(const cli::RecordStream& stream, const std::string& name) {
  const auto* unknown = std::get_if<UnknownRecord>(&stream.record());
  if (unknown == nullptr || unknown->kind != "membership") return;
  throw Error(ErrorKind::data,
              fmt::format("{}:{}: workers were lost here, and what stands then is not in the stream", name,
                          stream.line_number()),
              "the simulator checks such runs while they run");
}

void run_verify(const VerifyOptions& o) {
  // Dropped tokens are stated in the records, and the checker sums them.
  cli::RecordStream stream(o.file, cli::read_options(kAbsent, true), cli::recover_of(o.recover),
                           cli::Progress::Output::at_end);
  verify::Verifier verifier;
  try {
    while (stream.next()) {
      refuse_membership(stream, stream.lines().name());
      verifier.feed(stream.record());
    }
    verifier.finish();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::answer_no) put(o, verifier, error.what());
    throw;
  }
  put(o, verifier, "");
}

}  // namespace

void add_verify(cli::Command app) {
  cli::Command command =
      app.command("verify",
                  "Re-check a planned stream from its demand, header and copies alone: slots, busy rule, assignment,\n"
                  "loads, bounds, cuts, exposure and gain. Exit 0 and one line of counts, or exit 1 and the first "
                  "violation.");
  const auto o = std::make_shared<VerifyOptions>();
  command.option("FILE", o->file, "Planned stream; - is standard input").show_default();
  cli::add_recover(command, o->recover);
  command.flag("--json", o->json, "One line of JSON instead of the counts, also when a plan is wrong");
  command.examples({{"Every plan, checked again by other code",
                     "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 |\n"
                     "  afore-plan --workers 4 | tee planned.jsonl | afore-plan verify"},
                    {"The counts for a program", "afore-plan verify --json planned.jsonl"}});
  command.on_run([command, o] {
    cli::refuse_terminal_stdin(o->file, command);
    run_verify(*o);
  });
}

}  // namespace afore::plan
