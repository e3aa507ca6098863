#pragma once
// The subcommands of afore-trace. Each adds itself to the app and hangs its work on the subcommand's final callback.
#include "common/cli.h"

namespace afore::cli {

void add_import(CLI::App& app);
void add_synth(CLI::App& app);
void add_stat(CLI::App& app);
void add_plot(CLI::App& app);
void add_compare(CLI::App& app);
void add_head(CLI::App& app);
void add_replay(CLI::App& app);
void add_record(CLI::App& app);
void add_check(CLI::App& app);
void add_repair(CLI::App& app);
void add_merge(CLI::App& app);
void add_fit_cost(CLI::App& app);
void add_train_predictor(CLI::App& app);
void add_predict(CLI::App& app);

}  // namespace afore::cli
