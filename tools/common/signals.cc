#include "common/signals.h"

#include <unistd.h>

#include <csignal>

#include "common/publish.h"
#include "common/ready_file.h"

namespace afore::cli {

namespace {

StopFlag g_signal{0};
bool g_signals_end_well = false;

void on_signal(int signal) {
  if (g_signal != 0) {
    remove_unfinished();
    remove_ready_file();
    _exit(128 + signal);
  }
  g_signal = signal;
}

void on_alarm(int signal) {
  if (g_signal == 0) g_signal = signal;
}

}  // namespace

int caught_signal() { return time_is_up() || g_signals_end_well ? 0 : g_signal.load(); }

void signals_end_well() { g_signals_end_well = true; }

void limit_time(std::int64_t seconds) {
  struct sigaction action = {};
  action.sa_handler = on_alarm;
  sigemptyset(&action.sa_mask);
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  alarm(static_cast<unsigned>(seconds));
}

bool time_is_up() { return g_signal == SIGALRM; }

const StopFlag* catch_interrupts() {
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
