#include "common/sm_partitions.h"

#include "util/error.h"

namespace afore::cli {

bool SmPartitionsFlag::wanted(bool on_cuda) const {
  if (value != "auto" && !on_cuda) throw Error(ErrorKind::usage, "--sm-partitions is of --device cuda", "leave it out");
  return value == "auto";
}

void add_sm_partitions(Command app, SmPartitionsFlag& flag) {
  app.choice(
      "--sm-partitions", flag.value,
      "cuda: workers that share a GPU compute on multiprocessors of their own where the driver can (auto), or on "
      "all of them (off)",
      {"auto", "off"});
}

}  // namespace afore::cli
