#pragma once
// Nested JSON arrays of whole numbers as one flat tensor. Ragged arrays are refused with their place.
#include <cstdint>
#include <vector>

#include "wire/json_tree.h"

namespace afore::wire {

struct JsonTensor {
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> values;  // C order
};

// `dims`: how many there must be; 0 takes any from 1 to 4. Integral floats count, as dumps of float tensors have them.
// Error{data} naming the JSON path: no array, ragged, empty, a value outside [min, 2^53].
JsonTensor read_tensor(JsonValue value, int dims, std::int64_t min = 0);

}  // namespace afore::wire
