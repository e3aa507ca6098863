// afore-serve: the AFD pipeline, on threads with a real model or on the simulator.
#include "afore-serve/calibrate.h"
#include "common/cli.h"
#ifdef AFORE_WITH_HTTP
#include "afore-serve/http.h"
#endif
#include "afore-serve/replay.h"
#include "afore-serve/requests.h"
#include "afore-serve/run.h"
#include "common/record_stream.h"
#include "common/report_file.h"

namespace {

using afore::cli::Command;
using afore::serve::RunFlags;
using afore::serve::ServeFlags;

void add_common(Command app, ServeFlags& flags) {
  app.option("input", flags.input, "Stream to read, - for standard input");
  afore::cli::add_recover(app, flags.recover);
  app.choice("--host", flags.host, "Where the pipeline runs", {"sim"});
  app.integer("--kv-tokens", flags.kv_tokens, "Cached tokens per token, for streams without batch records", 0, 1 << 24);
  app.flag("--ignore-plans", flags.ignore_plans, "Use only the demand of a stream that has plans");
  app.choice("--topology", flags.topology,
             "Attention and experts on workers of their own, or together on each rank (colocated)",
             {"afd", "colocated"});
  app.choice("--dispatch", flags.dispatch, "Rows to the FFN workers that compute them, or every row to all (broadcast)",
             {"routed", "broadcast"});
  app.choice("--links", flags.links, "Copies on links of their own, or on those of the hidden states (shared)",
             {"own", "shared"});
  app.option("--copy-chunk", flags.copy_chunk, "On shared links: bytes of a copy before hidden states go ahead")
      .show_default();
  app.option("--faults", flags.faults,
             "What goes wrong, like kill:F2@12ms,pause:A0@3ms+2ms,slow@1ms+5ms=4 (docs/faults.md)");
  app.integer("--fault-seed", flags.fault_seed, "Seed of what faults leave to chance");
  afore::serve::add_request_flags(app, flags.requests, "64 GiB of them");
  afore::cli::add_report(app, flags.report);
  app.flag("--allow-drop", flags.allow_drop, "Accept demand that sums to less than tokens x top-k");
}

}  // namespace

int main(int argc, char** argv) {
  ServeFlags replay_flags, compare_flags;
  RunFlags run_flags;
#ifdef AFORE_WITH_HTTP
  afore::serve::HttpFlags http_flags;
#endif
  return afore::cli::tool_main(
      argc, argv, "afore-serve", "Runs the AFD pipeline: attention workers, FFN workers, scheduler.", [&](Command app) {
        Command replay = app.command("replay", "Run a stream through the pipeline, with its plans or with --policy");
        add_common(replay, replay_flags);
        afore::cli::add_planning_flags(replay, replay_flags.planning, true);
        afore::cli::add_predictor_flag(replay, replay_flags.planning);
        replay.choice("--only", replay_flags.only, "Emit only records of this kind", afore::cli::record_kinds());
        replay.flag("--timeline", replay_flags.timeline, "Emit an operation record for everything a worker did");
        replay.examples({{"A planned stream, what came of it alone",
                          "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 |\n"
                          "  tee demand.jsonl | afore-plan --workers 4 |\n"
                          "  afore-serve replay --only summary"},
                         {"Planned and served in one go, with everything a worker did",
                          "afore-serve replay --workers 4 --policy afore --timeline demand.jsonl \\\n"
                          "  > served.jsonl"},
                         {"A worker that is lost on the way",
                          "afore-serve replay --workers 4 --slots 8 --policy afore --faults kill:F2@1ms \\\n"
                          "  --only membership demand.jsonl"}});
        replay.on_run([&, replay] {
          afore::cli::refuse_terminal_stdin(replay_flags.input, replay);
          afore::serve::replay(replay_flags);
        });
        Command compare = app.command("compare", "Run one workload under several policies and print them side by side");
        add_common(compare, compare_flags);
        afore::cli::add_planning_flags(compare, compare_flags.planning, false);
        afore::cli::add_predictor_flag(compare, compare_flags.planning);
        compare
            .option("--policies", compare_flags.policies,
                    "Policies, separated by commas; the first is the base of comparisons")
            .show_default();
        compare.choice("--format", compare_flags.format, "Table for people, or summary records", {"table", "json"});
        compare.flag(
            "--json", [&] { compare_flags.format = "json"; }, "The same as --format json: one summary record a line");
        compare
            .option("--summaries", compare_flags.summaries,
                    "Also write the summary records to FILE, which must not exist")
            .beside_stdout();
        compare.examples({{"Three policies, against the first",
                           "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 |\n"
                           "  tee demand.jsonl |\n"
                           "  afore-serve compare --workers 4 --policies static,split,afore"},
                          {"The numbers behind it, a summary record each",
                           "afore-serve compare --workers 4 --policies static,afore --json demand.jsonl \\\n"
                           "  > summaries.jsonl"}});
        compare.on_run([&, compare] {
          afore::cli::refuse_terminal_stdin(compare_flags.input, compare);
          afore::serve::compare(compare_flags);
        });
        Command run = app.command("run", "Generate text with a real model, attention and experts on workers");
        afore::serve::add_run_flags(run, run_flags);
        run.examples({{"Text as it comes", "afore-serve run --prompt 'int main(int argc,' --max-tokens 16"},
                      {"Bundled prompts on four FFN workers; every plan checked afterwards",
                       "afore-serve run --workload math --num-prompts 4 --max-tokens 8 \\\n"
                       "  --ffn-workers 4 --json --record run.jsonl > answers.jsonl\n"
                       "afore-plan verify run.jsonl"}});
        run.on_run([&, run] {
          if (run_flags.prompts.file == "-") afore::cli::refuse_terminal_stdin("-", run);
          afore::serve::run(run_flags);
        });
#ifdef AFORE_WITH_HTTP
        Command http = app.command("http", "Serve a real model to OpenAI's clients");
        afore::serve::add_http_flags(http, http_flags);
        http.examples({{"On this machine, and a client's question",
                        "afore-serve http -q --port 0 --ready-file ready > summary.jsonl &\n"
                        "until [ -e ready ] || ! kill -0 $!; do sleep 0.1; done\n"
                        "curl -s \"$(cat ready)/v1/completions\" \\\n"
                        "  -d '{\"prompt\":\"int main(\",\"max_tokens\":8}'\n"
                        "kill $!; wait"},
                       {"On the network, for those who know the token",
                        "head -c 24 /dev/urandom | base64 > token\n"
                        "afore-serve http -q --listen 0.0.0.0 --port 0 --token-file token \\\n"
                        "  --ready-file ready > summary.jsonl &\n"
                        "until [ -e ready ] || ! kill -0 $!; do sleep 0.1; done\n"
                        "curl -s -H \"authorization: Bearer $(cat token)\" \\\n"
                        "  \"$(cat ready)/v1/models\"\n"
                        "kill $!; wait"}});
        http.on_run([&] { afore::serve::serve_http(http_flags); });
#endif
        afore::serve::add_calibrate(app);
        app.examples({{"A model's routing as it runs, planned, and served by the simulator",
                       "afore-trace record --workload mixed --max-concurrency 48 --steps 10 |\n"
                       "  afore-plan --workers 4 --cost cpu | afore-serve replay --only summary"},
                      {"Policies side by side on one workload",
                       "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 |\n"
                       "  tee demand.jsonl |\n"
                       "  afore-serve compare --workers 4 --policies static,split,afore"},
                      {"Text of the bundled model, experts on workers of their own",
                       "afore-serve run --prompt 'int main(int argc,' --max-tokens 16"}});
        app.needs_command();
      });
}
