#pragma once
// --sm-partitions: whether workers that share a GPU compute on multiprocessors of their own.
#include <string>

#include "common/options.h"

namespace afore::cli {

struct SmPartitionsFlag {
  std::string value = "auto";
  // Error{usage} where it is said of processors.
  bool wanted(bool on_cuda) const;
};
void add_sm_partitions(Command app, SmPartitionsFlag& flag);

}  // namespace afore::cli
