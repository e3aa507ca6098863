#pragma once
// The subcommands of afore-trace. Each adds itself to the app and hangs its work on the subcommand's final callback.
#include "common/options.h"

namespace afore::cli {

void add_import(Command app);
void add_synth(Command app);
void add_stat(Command app);
void add_plot(Command app);
void add_compare(Command app);
void add_head(Command app);
void add_replay(Command app);
void add_record(Command app);
void add_check(Command app);
void add_repair(Command app);
void add_merge(Command app);
void add_fit_cost(Command app);
void add_train_predictor(Command app);
void add_predict(Command app);

}  // namespace afore::cli
