#pragma once
// One row of a measured table: an experiment and how long it took. Read by lib/wire, fitted by lib/fit.
#include <cstdint>
#include <string>
#include <vector>

#include "core/ids.h"

namespace afore {

// Where a row comes from; docs/metrics.md says how each was measured.
enum class TableForm { generation, context, fused, nccl, deepep };

// How the tokens of a measured grouped product lay on the experts of the measured worker.
struct ExpertLoad {
  enum class Kind { uniform, power_law, stated };
  Kind kind = Kind::uniform;
  double alpha = 0;                // power_law
  std::int64_t tokens = 0;         // of all workers together
  std::int64_t top_k = 0;          // experts per token
  std::int64_t experts = 0;        // of all workers together
  std::int64_t local_experts = 0;  // on the measured worker
  // stated: assignments on the worker, experts with work, and the loads' standard deviation, least and largest, each
  // divided by their mean over local_experts.
  std::int64_t routed = 0, activated = 0;
  double deviation = 0, least = 0, most = 0;
};

struct MeasuredRow {
  std::int64_t line = 0;     // in its file
  std::string key;           // all that was chosen, nothing that was measured
  std::string series;        // the key without the size
  std::string group;         // rows that one set of coefficients describes: "h100/generation/fp8_block/7168x2048"
  std::string label;         // the row within its group, for people: "ep=32 tokens=512 uniform"
  std::string distribution;  // "uniform", "power_law_1.2"; empty for links
  std::int64_t workers = 0;  // EP size, or GPUs of a collective
  double size = 0;           // tokens, or bytes one worker sends
  double time_ns = 0;
  ExpertLoad load;          // grouped products
  std::int64_t hidden = 0;  // grouped products
  std::int64_t intermediate = 0;
  double weight_bytes = 0;  // of one weight
};

struct MeasuredTable {
  std::string name;    // of the file
  std::string device;  // "h100"
  TableForm form = TableForm::generation;
  std::vector<MeasuredRow> rows;

  bool of_links() const { return form == TableForm::nccl || form == TableForm::deepep; }
};

}  // namespace afore
