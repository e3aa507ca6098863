#pragma once
// The benchmark's table and its JSON file, in nccl-tests' form.
#include <string>
#include <vector>

#include "afore-migrate/sweep.h"

namespace afore::cli {

std::string table_head(const Sweep& sweep);
std::string table_row(const migrate::CopyPoint& point);
std::string table_foot(const SweepResult& result);

// Mean over the sizes of busbw, GB/s; 0 without sizes.
double average_bus_bandwidth(const SweepResult& result);

struct RunTimes {
  std::string start, end;  // UTC
};
std::string json_report(const std::vector<std::string>& arguments, const Sweep& sweep, const SweepResult& result,
                        const RunTimes& times);

}  // namespace afore::cli
