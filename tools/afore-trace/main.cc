// afore-trace: streams of expert demand, made, looked at and passed on.
#include "commands.h"
#include "common/cli.h"

int main(int argc, char** argv) {
  return afore::cli::tool_main(
      argc, argv, "afore-trace", "Make, summarise, record and replay streams of expert demand.",
      [](afore::cli::Command app) {
        app.needs_command();
        app.examples({{"Demand of a public model's shape, and how skewed it is",
                       "afore-trace synth --model gpt-oss-20b --steps 20 --tokens 512 |\n"
                       "  tee demand.jsonl | afore-trace stat"},
                      {"What the bundled model's router asks for, planned and served",
                       "afore-trace record --workload mixed --max-concurrency 48 --steps 10 |\n"
                       "  afore-plan --workers 4 --cost cpu | afore-serve replay --only summary"},
                      {"A stream that survives a killed writer, and whether it is whole",
                       "afore-trace record -o demand.afl demand.jsonl\n"
                       "afore-trace check demand.afl"}});
        afore::cli::add_import(app);
        afore::cli::add_synth(app);
        afore::cli::add_stat(app);
        afore::cli::add_plot(app);
        afore::cli::add_compare(app);
        afore::cli::add_head(app);
        afore::cli::add_replay(app);
        afore::cli::add_record(app);
        afore::cli::add_check(app);
        afore::cli::add_repair(app);
        afore::cli::add_merge(app);
        afore::cli::add_fit_cost(app);
        afore::cli::add_train_predictor(app);
        afore::cli::add_predict(app);
      });
}
