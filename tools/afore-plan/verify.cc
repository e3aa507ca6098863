#include "afore-plan/verify.h"

#include <fmt/format.h>

#include <memory>
#include <string>

#include "common/record_stream.h"
#include "util/error.h"
#include "util/line_io.h"
#include "verify/verify.h"
#include "wire/wire.h"

namespace afore::plan {
namespace {

std::string counted(std::int64_t count, const char* one, const char* many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

struct VerifyOptions {
  std::string file = "-", recover = "tail";
};

void run_verify(const VerifyOptions& o) {
  LineReader reader(o.file, cli::recover_of(o.recover));
  // Dropped tokens are stated in the records, and the checker sums them.
  wire::RecordDecoder decoder(reader.name(), {.allow_drop = true, .top_k = std::nullopt});
  verify::Verifier verifier;
  std::string_view line;
  while (reader.next(line)) {
    const Record record = decoder.decode(line, reader.line_number());
    const auto* unknown = std::get_if<UnknownRecord>(&record);
    if (unknown != nullptr && unknown->kind == "membership")
      throw Error(ErrorKind::data,
                  fmt::format("{}:{}: workers were lost here, and what stands then is not in the stream", reader.name(),
                              reader.line_number()),
                  "the simulator checks such runs while they run");
    verifier.feed(record);
  }
  cli::warn_of_losses(reader);
  verifier.finish();

  const auto& counts = verifier.counts();
  std::string summary =
      fmt::format("ok: {}, {}, {} certified, {} checked", counted(counts.plans, "plan", "plans"),
                  counted(counts.copies, "copy", "copies"), counts.certified, counted(counts.cuts, "cut", "cuts"));
  if (counts.observed > 0) summary += fmt::format(", {} observed", counts.observed);
  ByteWriter out("-");
  out.write_line(summary);
  out.finish();
}

}  // namespace

void add_verify(CLI::App& app) {
  CLI::App* command = app.add_subcommand(
      "verify",
      "Re-check a planned stream from its demand, header and copies alone: slots, busy rule, assignment,\n"
      "loads, bounds, cuts, exposure and gain. Exit 0 and one line of counts, or exit 1 and the first "
      "violation.");
  const auto o = std::make_shared<VerifyOptions>();
  command->add_option("FILE", o->file, "Planned stream; - is standard input")->capture_default_str();
  cli::add_recover(*command, o->recover);
  command->final_callback([command, o] {
    cli::refuse_terminal_stdin(o->file, *command);
    run_verify(*o);
  });
}

}  // namespace afore::plan
