#pragma once
// The routing-ids files of one import, loaded and checked against each other.
#include <cstdint>
#include <string>
#include <vector>

#include "batch/composer.h"
#include "batch/phases.h"
#include "core/model_spec.h"
#include "import.h"
#include "trace/routing_table.h"
#include "wire/wire.h"

namespace afore::cli {

struct RoutingInputs {
  std::vector<std::string> domains;         // names, by pool
  std::vector<trace::RoutingTable> tables;  // by pool
  std::vector<batch::Request> requests;     // all pools
  std::int64_t rows = 0;                    // of all requests
  std::string routing_model;                // as the files name it
  ModelSpec model;
};

RoutingInputs load_routing_inputs(const ImportOptions& options);

// "math:50,code:50,mixed:100" over these domains. Error{usage}
std::vector<batch::WorkPhase> parse_phases(const std::string& text, const std::vector<std::string>& domains);

}  // namespace afore::cli
