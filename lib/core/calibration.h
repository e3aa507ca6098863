#pragma once
// What a cost file's measured values rest on: the machine, the command, and how well each fit holds. Kept by whoever
// reads and writes a cost file; nothing computes with it.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/sm_split.h"

namespace afore {

struct FitQuality {
  std::int64_t points = 0;
  double r2 = 0;                          // 1 - Σ(fit - measured)² / Σ(mean - measured)²
  double p95_error = 0, worst_error = 0;  // of |fit - measured| / measured, nearest rank
  std::vector<std::string> held;          // coefficients that would have been negative, held at their least value
  bool operator==(const FitQuality&) const = default;
};

struct CopyCalibration {
  std::string path;  // host, d2d, peer, nccl
  Nanos latency_ns = 0;
  double bytes_per_s = 0;
  FitQuality fit;
  bool operator==(const CopyCalibration&) const = default;
};

struct FfnCalibration {
  std::int64_t hidden = 0, intermediate = 0, tile_tokens = 0;
  std::int64_t threads = 0;  // of the host that computed; 0 = none
  FitQuality fit;
  bool operator==(const FfnCalibration&) const = default;
};

struct Calibration {
  std::string producer;  // "afore-migrate 0.1.0"
  std::vector<std::string> command;
  std::int64_t seed = 0;
  std::string device, device_name, arithmetic;
  std::int64_t units = 0, workers = 0;
  bool virtual_workers = false;
  std::optional<SmSplit> sm_split{};  // of the copies' workers where they share a GPU; the FFN's is the first of them
  std::vector<CopyCalibration> copies{};  // the first is the one that copy_latency_ns and copy_bytes_per_s say
  std::optional<FfnCalibration> ffn{};
  bool operator==(const Calibration&) const = default;
};

}  // namespace afore
