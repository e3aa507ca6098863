// afore-trace: streams of expert demand, made, looked at and passed on.
#include "commands.h"

int main(int argc, char** argv) {
  return afore::cli::tool_main(argc, argv, "afore-trace",
                               "Make, summarise, record and replay streams of expert demand.", [](CLI::App& app) {
                                 app.require_subcommand(1);
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
                               });
}
