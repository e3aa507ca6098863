#pragma once
// One file of another system that has a map of experts, or counts that a server solves for one.
#include <string>
#include <variant>
#include <vector>

#include "wire/foreign/check_map.h"
#include "wire/foreign/tables.h"

namespace afore::cli {

inline constexpr std::size_t kMaxForeignBytes = std::size_t{1} << 30;

struct MapFileOptions {
  std::string model_class;   // which model of a vLLM file with several; may be empty
  bool array_is_map = true;  // what an .npy of eplb is taken for: phy2log, or weights
};

// JSON, .pt, .npy or YAML by content, as `target` has them.
std::variant<wire::MapFile, wire::CountsFile, wire::RoutingFile> load_map_file(const std::string& path,
                                                                               wire::MapTarget target,
                                                                               const MapFileOptions& options);

bool is_npy(const std::vector<std::uint8_t>& bytes);

}  // namespace afore::cli
