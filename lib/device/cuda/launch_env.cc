#include "device/cuda/launch_env.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <string_view>

#include "util/error.h"

namespace afore::device::cuda {
namespace {

struct Launcher {
  const char* name;
  const char* rank;
  const char* world_size;
  const char* local_rank;
  const char* other_local_rank;  // read where local_rank is not set; null: there is none
  const char* sign;              // the one variable that tells this launcher is at work; null: any of the others does
};

constexpr std::array<Launcher, 4> kLaunchers = {{
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", nullptr, nullptr},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", nullptr, nullptr},
    {"Slurm", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr, "SLURM_STEP_ID"},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", nullptr},
}};

constexpr int kMaxPort = 65535;

class Reader {
 public:
  explicit Reader(const Variable& variable) : variable_(variable) {}

  std::string_view text(const char* name) const {
    const char* value = name ? variable_(name) : nullptr;
    return value ? std::string_view(value) : std::string_view();
  }
  bool has(const char* name) const { return !text(name).empty(); }

  int number(const char* name, int low, int high, const std::string& wanted, const char* because) const {
    const std::string_view value = text(name);
    if (value.empty())
      throw Error(ErrorKind::usage, fmt::format("{} is not set, while {} is: {} is wanted", name, because, wanted));
    int result = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), result);
    if (error != std::errc() || end != value.data() + value.size() || result < low || result > high)
      throw Error(ErrorKind::usage, fmt::format("{} is '{}': {} is wanted", name, value, wanted));
    return result;
  }

 private:
  const Variable& variable_;
};

// The variable by which this launcher shows itself; null: it is not at work.
const char* sign_of(const Launcher& launcher, const Reader& reader) {
  if (launcher.sign) return reader.has(launcher.sign) ? launcher.sign : nullptr;
  for (const char* name : {launcher.rank, launcher.world_size, launcher.local_rank})
    if (reader.has(name)) return name;
  return nullptr;
}

void read_ranks(const Launcher& launcher, const char* sign, const Reader& reader, LaunchEnv& env) {
  env.launcher = launcher.name;
  env.world_size = reader.number(launcher.world_size, 1, INT_MAX, "the number of ranks, 1 or more,", sign);
  const int last = env.world_size - 1;
  const std::string wanted =
      fmt::format("a whole number from 0 to {}, as {} is {},", last, launcher.world_size, env.world_size);
  env.rank = reader.number(launcher.rank, 0, last, wanted, sign);
  const bool other = !reader.has(launcher.local_rank) && reader.has(launcher.other_local_rank);
  env.local_rank = reader.number(other ? launcher.other_local_rank : launcher.local_rank, 0, last, wanted, sign);
}

void read_master(const Reader& reader, LaunchEnv& env) {
  if (!reader.has("MASTER_ADDR") && !reader.has("MASTER_PORT")) return;
  if (!reader.has("MASTER_ADDR"))
    throw Error(ErrorKind::usage, "MASTER_ADDR is not set, while MASTER_PORT is: the host of rank 0 is wanted");
  env.master_address = reader.text("MASTER_ADDR");
  env.master_port = reader.number("MASTER_PORT", 1, kMaxPort, "a port from 1 to 65535", "MASTER_ADDR");
  if (reader.text("TORCHELASTIC_USE_AGENT_STORE") == "True") env.master_port += env.master_port == kMaxPort ? -1 : 1;
}

std::string job_token(const Reader& reader) {
  const std::string_view run = reader.text("TORCHELASTIC_RUN_ID");
  if (!run.empty() && run != "none") return fmt::format("{}.{}", run, reader.text("TORCHELASTIC_RESTART_COUNT"));
  if (!reader.has("SLURM_JOB_ID")) return "";
  return fmt::format("{}.{}", reader.text("SLURM_JOB_ID"), reader.text("SLURM_STEP_ID"));
}

}  // namespace

LaunchEnv read_launch_env(const Variable& variable) {
  const Reader reader(variable);
  LaunchEnv env;
  for (const Launcher& launcher : kLaunchers) {
    const char* sign = sign_of(launcher, reader);
    if (!sign) continue;
    read_ranks(launcher, sign, reader, env);
    read_master(reader, env);
    env.job_token = job_token(reader);
    break;
  }
  return env;
}

LaunchEnv read_launch_env() {
  return read_launch_env([](const char* name) { return std::getenv(name); });
}

}  // namespace afore::device::cuda
