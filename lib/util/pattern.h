#pragma once
// Bytes that show whether a copy arrived: every place has its own.
#include <cstddef>
#include <cstdint>
#include <span>

namespace afore {

// weights: bf16 numbers of either sign from 1/32 to 1/16, which experts can be computed with.
enum class PatternKind { bytes, weights };

// Pseudo-random bytes that only (seed, worker, slot) decide, so a misplaced or torn copy does not match.
void fill_pattern(std::span<std::byte> bytes, std::uint64_t seed, std::int64_t worker, std::int64_t slot,
                  PatternKind kind = PatternKind::bytes);
// Bytes that differ from that pattern.
std::int64_t count_wrong(std::span<const std::byte> bytes, std::uint64_t seed, std::int64_t worker, std::int64_t slot,
                         PatternKind kind = PatternKind::bytes);

}  // namespace afore
