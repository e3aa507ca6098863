// afore-plan: demand records in, placement plans out, in stream order.
#include <unistd.h>

#include "afore-plan/advise.h"
#include "afore-plan/check.h"
#include "afore-plan/export.h"
#include "afore-plan/place.h"
#include "afore-plan/plan_stream.h"
#include "afore-plan/ratio.h"
#include "afore-plan/verify.h"
#include "common/cli.h"
#include "common/nearest.h"
#include "common/record_stream.h"
#include "util/error.h"

namespace {

using afore::cli::Command;

// A first word that is no file may be a command with a letter wrong: said before it is called missing.
void refuse_misspelt_command(const std::string& word, Command app) {
  if (word == "-" || access(word.c_str(), F_OK) == 0) return;
  std::vector<std::string> names;
  for (const Command& command : app.commands()) names.push_back(command.name());
  const std::string guess = afore::cli::nearest(word, names);
  if (!guess.empty())
    throw afore::Error(afore::ErrorKind::usage, "\"" + word + "\" is neither a file nor a command",
                       "did you mean " + guess + "?");
}

}  // namespace

int main(int argc, char** argv) {
  afore::plan::PlanFlags flags;
  return afore::cli::tool_main(
      argc, argv, "afore-plan", "Plans expert replicas and token splits for each demand record of a stream.",
      [&](Command app) {
        app.option("input", flags.input, "Stream to read, - for standard input");
        afore::cli::add_recover(app, flags.recover);
        afore::cli::add_planning_flags(app, flags.planning, true);
        afore::cli::add_predictor_flag(app, flags.planning);
        app.choice("--only", flags.only, "Emit only records of this kind (and the summary, if asked for)",
                   afore::cli::record_kinds());
        app.option("--explain", flags.explain, "Explain the plan of STEP:LAYER:MICROBATCH in words, and stop there");
        app.flag("--summary", flags.summary, "End with a summary record");
        app.flag("--timing", flags.timing, "Wall-clock planning time in the summary");
        app.flag("--replan", flags.replan, "Drop plans that the input has");
        app.flag("--allow-drop", flags.allow_drop, "Accept demand that sums to less than tokens x top-k");
        afore::plan::add_verify(app);
        afore::plan::add_advise(app);
        afore::plan::add_ratio(app);
        afore::plan::add_place(app);
        afore::plan::add_export(app);
        afore::plan::add_check(app);
        app.examples({{"Four workers with two redundant slots each",
                       "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 |\n"
                       "  tee demand.jsonl | afore-plan --workers 4 --slots 2 > planned.jsonl"},
                      {"Another policy, its predictions alone",
                       "afore-plan --workers 4 --policy eplb --summary --only summary demand.jsonl"},
                      {"Why a target was planned as it was", "afore-plan --workers 4 --explain 10:0:0 demand.jsonl"}});
        app.may_have_command();
        app.on_run([&, app] {
          if (!app.given_commands().empty()) return;
          afore::cli::refuse_terminal_stdin(flags.input, app);
          refuse_misspelt_command(flags.input, app);
          afore::plan::plan_stream(flags);
        });
      });
}
