// afore-migrate: how fast expert weights move. Without a command it is a benchmark of copies between workers' arenas;
// `overlap` measures them beside the computation that is to hide them, `calibrate` turns measurements into a cost file.
#include "afore-migrate/commands.h"
#include "common/cli.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv, argv + argc);
  return afore::cli::tool_main(
      argc, argv, "afore-migrate",
      "Copies expert weights between workers and prints nccl-tests' columns: time is of the slowest port, algbw is\n"
      "size / time, busbw is what one out port carries. Exit 1 when a byte arrived wrong, when the time limit (-T)\n"
      "ended the run, or when the bandwidth is below --min-bw.",
      [&](afore::cli::Command app) {
        afore::cli::add_bench(app, arguments);
        afore::cli::add_overlap(app, arguments);
        afore::cli::add_calibrate(app, arguments);
      });
}
