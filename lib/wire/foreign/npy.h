#pragma once
// NumPy's array files, versions 1 to 3 (numpy/numpy, numpy/lib/format.py): "\x93NUMPY", version, the length of a header
// that is the text of a Python dict, then the elements.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "wire/foreign/tables.h"

namespace afore::wire {

struct NpyArray {
  std::vector<std::int64_t> shape;   // at most 8 dimensions, none negative
  std::vector<std::int64_t> values;  // row-major whatever the file's order
};

// Whole numbers of any little-endian integer or float dtype, or bool. Error{data} "SOURCE: fact" for anything else: the
// header is read as data, objects and records are refused, the file has exactly the bytes that its header says, and
// there are at most `max_elements`: each becomes eight bytes, whatever it has in the file.
NpyArray parse_npy(std::span<const std::uint8_t> bytes, const std::string& source,
                   std::int64_t max_elements = kMaxTableCells);

enum class NpyType { int32, int64 };
// Version 1.0, little-endian, row-major. Error{data} for a value that an int32 does not hold; `values` must fill
// `shape`.
std::vector<std::uint8_t> to_npy(std::span<const std::int64_t> values, std::span<const std::int64_t> shape,
                                 NpyType type);

}  // namespace afore::wire
