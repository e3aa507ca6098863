#pragma once
// --sm-partitions: whether workers that share a GPU compute on multiprocessors of their own.
#include <CLI/CLI.hpp>
#include <string>

namespace afore::cli {

struct SmPartitionsFlag {
  std::string value = "auto";
  // Error{usage} where it is said of processors.
  bool wanted(bool on_cuda) const;
};
void add_sm_partitions(CLI::App& app, SmPartitionsFlag& flag);

}  // namespace afore::cli
