#pragma once
// Token-level expert ids of one recorded file: uint8 in C order [tokens, layers, top_k]. Owns the bytes.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace afore::trace {

struct RoutingShape {
  std::int64_t tokens = 0;
  int layers = 0;  // recorded ones, counted from 0 here; which absolute layers they are is the caller's matter
  int top_k = 0;
  int experts = 0;  // at most 256: an id is one byte
};

// tokens * layers * top_k. Error{data} when the shape is impossible or the file would exceed 64 GiB.
std::int64_t routing_bytes(const RoutingShape& shape, const std::string& source_name);

class RoutingTable {
 public:
  // Error{data} naming source, token and layer: wrong length, an id that is no expert, an expert chosen twice by one
  // token.
  RoutingTable(std::vector<std::uint8_t> ids, const RoutingShape& shape, const std::string& source_name);

  const RoutingShape& shape() const { return shape_; }
  std::span<const std::uint8_t> experts_of(std::int64_t row, int layer) const {
    return {ids_.data() + (row * shape_.layers + layer) * shape_.top_k, static_cast<std::size_t>(shape_.top_k)};
  }

 private:
  std::vector<std::uint8_t> ids_;
  RoutingShape shape_;
};

}  // namespace afore::trace
