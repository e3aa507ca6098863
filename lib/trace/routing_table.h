#pragma once
// Token-level expert ids of one recording, C order [tokens, layers, top_k]. Owns them.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace afore::trace {

struct RoutingShape {
  std::int64_t tokens = 0;
  int layers = 0;  // recorded ones, counted from 0 here; which absolute layers they are is the caller's matter
  int top_k = 0;
  int experts = 0;  // at most 65,536; in a file of bytes 256
};

// Size of a file of uint8 ids: tokens * layers * top_k. Error{data} when the shape is impossible or the file would
// exceed 64 GiB.
std::int64_t routing_bytes(const RoutingShape& shape, const std::string& source_name);

class RoutingTable {
 public:
  // Error{data} naming source, token and layer: wrong length, an id that is no expert, an expert chosen twice by one
  // token.
  RoutingTable(std::vector<std::uint16_t> ids, const RoutingShape& shape, const std::string& source_name);
  // From a file of bytes.
  RoutingTable(const std::vector<std::uint8_t>& ids, const RoutingShape& shape, const std::string& source_name);

  const RoutingShape& shape() const { return shape_; }
  std::span<const std::uint16_t> experts_of(std::int64_t row, int layer) const {
    return {ids_.data() + (row * shape_.layers + layer) * shape_.top_k, static_cast<std::size_t>(shape_.top_k)};
  }

 private:
  void check(const std::string& source_name, const char* hint) const;

  std::vector<std::uint16_t> ids_;
  RoutingShape shape_;
};

}  // namespace afore::trace
