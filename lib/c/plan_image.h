#pragma once
// A plan as one run of bytes: afore_plan as it stands in memory, then tile_load, shares and copies. Nothing in it
// points anywhere; whoever reads it trusts nothing in it.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "c/afore.h"

namespace afore::c {

// A struct of an older header has at least what lies before this.
constexpr std::size_t kLeastPlanBytes = offsetof(afore_plan, max_tile_load_before);

// Bytes of a plan of so many entries.
constexpr std::int64_t plan_bytes(std::int64_t workers, std::int64_t shares, std::int64_t copies) {
  return static_cast<std::int64_t>(sizeof(afore_plan)) + workers * static_cast<std::int64_t>(sizeof(std::int64_t)) +
         shares * static_cast<std::int64_t>(sizeof(afore_share)) +
         copies * static_cast<std::int64_t>(sizeof(afore_copy));
}

// Replaces what `bytes` holds; its capacity is kept. Refusal for a plan that read_image() would refuse.
void write_image(const afore_plan& plan, std::string& bytes);

// `bytes` are aligned to 8; the result points into them and has their struct_size. Refusal{AFORE_E_DAMAGED} for lists
// that do not fit, ids out of range, shares out of order or of nothing. Other numbers are taken as they are.
afore_plan read_image(std::span<const char> bytes);

}  // namespace afore::c
