#pragma once
// The benchmark's tables and its JSON file, in nccl-tests' form.
#include <optional>
#include <string>
#include <vector>

#include "afore-migrate/sweep.h"
#include "wire/json_writer.h"

namespace afore::cli {

std::string table_head(const Sweep& sweep);
// A path's table: what stands above its rows, a row, and what stands below them.
std::string path_head(const Sweep& sweep, device::CopyPath path);
std::string table_row(const device::CopyPoint& point);
std::string path_foot(const PathResult& result, bool interrupted);

// Mean over the sizes of busbw, GB/s; 0 without sizes.
double average_bus_bandwidth(const PathResult& result);

struct RunFacts {
  std::vector<std::string> arguments;
  std::string start, end;          // UTC
  std::optional<double> min_gbps;  // --min-bw
};
std::string json_report(const Sweep& sweep, const SweepResult& result, const RunFacts& facts);

// What the JSON of every command begins with: who measured, on what, by which command.
void write_run(wire::JsonWriter& json, const char* schema, const RunFacts& facts, const OpenDevice& device);
void write_workers_of(wire::JsonWriter& json, const device::DeviceInfo& info);  // on a path
// "2025-01-31T12:00:00Z"
std::string utc_now();

}  // namespace afore::cli
