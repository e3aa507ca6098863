#include <csignal>

#include <unistd.h>

#include "common/cli.h"
#include "common/cli_internal.h"

namespace afore::cli {

namespace {

volatile int g_signal = 0;

void on_signal(int signal) {
  if (g_signal != 0) _exit(128 + signal);
  g_signal = signal;
}

}  // namespace

int caught_signal() { return g_signal; }

const volatile int* catch_interrupts() {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  sigemptyset(&action.sa_mask);
  action.sa_flags = 0;  // no SA_RESTART: a blocked read must return so that the run can end
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before = {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)  // nohup means it
    sigaction(SIGHUP, &action, nullptr);
  return &g_signal;
}

}  // namespace afore::cli
