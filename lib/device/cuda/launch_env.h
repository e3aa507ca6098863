#pragma once
// Who this process is among those that a launcher started, read from the launcher's variables. The first launcher of
// this list that has set any of its variables is taken, and then it must have set all of them:
//   torchrun   RANK, WORLD_SIZE, LOCAL_RANK
//   Open MPI   OMPI_COMM_WORLD_RANK, OMPI_COMM_WORLD_SIZE, OMPI_COMM_WORLD_LOCAL_RANK
//   Slurm      SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, where srun has set SLURM_STEP_ID. A batch script
//              that runs a program without srun is one process, whatever SLURM_NTASKS says of the whole job.
//   PMI        PMI_RANK, PMI_SIZE, and MPI_LOCALRANKID (MPICH, Intel MPI) or PMI_LOCAL_RANK (Cray)
// No launcher: a single process. MASTER_ADDR and MASTER_PORT come with any launcher, both or neither.
#include <functional>
#include <string>

namespace afore::device::cuda {

struct LaunchEnv {
  std::string launcher;  // its name as above; empty: a single process
  int rank = 0;
  int world_size = 1;
  int local_rank = 0;          // on this host: the device to take
  std::string master_address;  // empty: not given
  // 0: not given. Where torchrun's agent keeps a store of its own at MASTER_PORT (TORCHELASTIC_USE_AGENT_STORE=True),
  // that port is taken on rank 0's host, and this is the port beside it.
  int master_port = 0;
  // Tells this job from others and from its own earlier attempts: TORCHELASTIC_RUN_ID with the restart count, or
  // SLURM_JOB_ID with the step. Empty where the launcher names no job; torchrun's default "none" is no name.
  std::string job_token;
};

using Variable = std::function<const char*(const char* name)>;  // as std::getenv; an empty value counts as not set

// Error{usage} for a value that is missing, malformed or out of range: it names the variable, the value and what is
// wanted.
LaunchEnv read_launch_env(const Variable& variable);
LaunchEnv read_launch_env();  // of this process

}  // namespace afore::device::cuda
