#include "common/record_stream.h"

#include <variant>

namespace afore::cli {

wire::ReadOptions read_options(std::int64_t top_k, bool allow_drop) {
  wire::ReadOptions options;
  options.allow_drop = allow_drop;
  if (top_k > 0) options.top_k = top_k;
  return options;
}

std::string_view kind_of(const Record& record) {
  struct Name {
    std::string_view operator()(const Header&) { return "header"; }
    std::string_view operator()(const Batch&) { return "batch"; }
    std::string_view operator()(const Demand&) { return "demand"; }
    std::string_view operator()(const Routing&) { return "routing"; }
    std::string_view operator()(const PlacementRecord&) { return "placement"; }
    std::string_view operator()(const Plan&) { return "plan"; }
    std::string_view operator()(const Observed&) { return "observed"; }
    std::string_view operator()(const Operation&) { return "operation"; }
    std::string_view operator()(const SequenceRecord&) { return "sequence"; }
    std::string_view operator()(const RequestRecord&) { return "request"; }
    std::string_view operator()(const Completion&) { return "completion"; }
    std::string_view operator()(const Summary&) { return "summary"; }
    std::string_view operator()(const UnknownRecord& record) { return record.kind; }
  };
  return std::visit(Name{}, record);
}

}  // namespace afore::cli
