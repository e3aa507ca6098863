#include "device/cuda/launch_env.h"

#include <gtest/gtest.h>

#include <map>

#include "util/error.h"

namespace afore::device::cuda {
namespace {

using Variables = std::map<std::string, std::string>;

LaunchEnv read(const Variables& variables) {
  return read_launch_env([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

std::string error_of(const Variables& variables) {
  try {
    read(variables);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    return error.what();
  }
  return "no error";
}

const Variables kTorchrun = {{"RANK", "5"},        {"WORLD_SIZE", "8"},          {"LOCAL_RANK", "1"},
                             {"MASTER_ADDR", "h"}, {"MASTER_PORT", "29500"},     {"TORCHELASTIC_RUN_ID", "run"},
                             {"PMI_RANK", "x"},    {"SLURM_STEP_ID", "ignored"}, {"TORCHELASTIC_RESTART_COUNT", "2"}};

Variables with(Variables variables, const std::string& name, const std::string& value) {
  variables[name] = value;
  return variables;
}

TEST(LaunchEnv, NothingSetIsASingleProcess) {
  for (const Variables& variables : {Variables{}, Variables{{"RANK", ""}}, Variables{{"MASTER_ADDR", "h"}}}) {
    const LaunchEnv env = read(variables);
    EXPECT_EQ(env.launcher, "");
    EXPECT_EQ(env.rank, 0);
    EXPECT_EQ(env.world_size, 1);
    EXPECT_EQ(env.local_rank, 0);
    EXPECT_EQ(env.master_port, 0);
  }
}

TEST(LaunchEnv, Torchrun) {
  const LaunchEnv env = read(kTorchrun);
  EXPECT_EQ(env.launcher, "torchrun");
  EXPECT_EQ(env.rank, 5);
  EXPECT_EQ(env.world_size, 8);
  EXPECT_EQ(env.local_rank, 1);
  EXPECT_EQ(env.master_address, "h");
  EXPECT_EQ(env.master_port, 29500);
  EXPECT_EQ(env.job_token, "run.2");
}

TEST(LaunchEnv, ThePortOfTheAgentsStoreIsLeftAlone) {
  const Variables store = with(kTorchrun, "TORCHELASTIC_USE_AGENT_STORE", "True");
  EXPECT_EQ(read(store).master_port, 29501);
  EXPECT_EQ(read(with(store, "MASTER_PORT", "65535")).master_port, 65534);
  EXPECT_EQ(read(with(store, "TORCHELASTIC_USE_AGENT_STORE", "False")).master_port, 29500);
}

TEST(LaunchEnv, TheDefaultRunIdNamesNoJob) {
  EXPECT_EQ(read(with(kTorchrun, "TORCHELASTIC_RUN_ID", "none")).job_token, "");
}

TEST(LaunchEnv, OtherLaunchers) {
  const LaunchEnv mpi = read({{"OMPI_COMM_WORLD_RANK", "1"},
                              {"OMPI_COMM_WORLD_SIZE", "2"},
                              {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                              {"SLURM_STEP_ID", "0"}});
  EXPECT_EQ(mpi.launcher, "Open MPI");
  EXPECT_EQ(mpi.rank, 1);
  EXPECT_EQ(mpi.master_address, "");

  const LaunchEnv slurm = read({{"SLURM_PROCID", "3"},
                                {"SLURM_STEP_NUM_TASKS", "4"},
                                {"SLURM_NTASKS", "16"},
                                {"SLURM_LOCALID", "0"},
                                {"SLURM_STEP_ID", "7"},
                                {"SLURM_JOB_ID", "99"}});
  EXPECT_EQ(slurm.launcher, "Slurm");
  EXPECT_EQ(slurm.rank, 3);
  EXPECT_EQ(slurm.world_size, 4);
  EXPECT_EQ(slurm.job_token, "99.7");

  EXPECT_EQ(read({{"PMI_RANK", "1"}, {"PMI_SIZE", "2"}, {"MPI_LOCALRANKID", "1"}}).local_rank, 1);
  EXPECT_EQ(read({{"PMI_RANK", "3"}, {"PMI_SIZE", "4"}, {"PMI_LOCAL_RANK", "2"}}).local_rank, 2);
}

TEST(LaunchEnv, ABatchScriptWithoutSrunIsOneProcess) {
  const LaunchEnv env =
      read({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "16"}, {"SLURM_LOCALID", "0"}, {"SLURM_JOB_ID", "99"}});
  EXPECT_EQ(env.launcher, "");
  EXPECT_EQ(env.world_size, 1);
}

TEST(LaunchEnv, HalfSetIsNamed) {
  EXPECT_EQ(error_of({{"RANK", "0"}}),
            "WORLD_SIZE is not set, while RANK is: the number of ranks, 1 or more, is wanted");
  EXPECT_EQ(error_of({{"WORLD_SIZE", "2"}}),
            "RANK is not set, while WORLD_SIZE is: a whole number from 0 to 1, as WORLD_SIZE is 2, is wanted");
  EXPECT_EQ(error_of(with(kTorchrun, "LOCAL_RANK", "")),
            "LOCAL_RANK is not set, while RANK is: a whole number from 0 to 7, as WORLD_SIZE is 8, is wanted");
  EXPECT_EQ(error_of(with(kTorchrun, "MASTER_PORT", "")),
            "MASTER_PORT is not set, while MASTER_ADDR is: a port from 1 to 65535 is wanted");
  EXPECT_EQ(error_of(with(kTorchrun, "MASTER_ADDR", "")),
            "MASTER_ADDR is not set, while MASTER_PORT is: the host of rank 0 is wanted");
  EXPECT_NE(error_of({{"SLURM_STEP_ID", "0"}}).find("SLURM_STEP_NUM_TASKS is not set, while SLURM_STEP_ID is"),
            std::string::npos);
  EXPECT_NE(error_of({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}).find("MPI_LOCALRANKID is not set"), std::string::npos);
}

TEST(LaunchEnv, MalformedIsNamed) {
  for (const char* value : {"8", "-1", "1x", " 1", "+1", "1.0", "99999999999999999999", "0x1"})
    EXPECT_EQ(error_of(with(kTorchrun, "RANK", value)),
              "RANK is '" + std::string(value) + "': a whole number from 0 to 7, as WORLD_SIZE is 8, is wanted");
  for (const char* value : {"0", "-8", "eight", "2147483648"})
    EXPECT_EQ(error_of(with(kTorchrun, "WORLD_SIZE", value)),
              "WORLD_SIZE is '" + std::string(value) + "': the number of ranks, 1 or more, is wanted");
  for (const char* value : {"0", "65536", "http"})
    EXPECT_EQ(error_of(with(kTorchrun, "MASTER_PORT", value)),
              "MASTER_PORT is '" + std::string(value) + "': a port from 1 to 65535 is wanted");
}

}  // namespace
}  // namespace afore::device::cuda
