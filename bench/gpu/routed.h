#pragma once
// Two attention workers' steps and the shares of one FFN worker, on the host and on the device.
#include <memory>
#include <vector>

#include "bench/gpu/context.h"
#include "kernels/expert_rows.h"
#include "kernels/gate.h"
#include "tests/kernels/inputs.h"

namespace afore::bench::gpu {

struct HostPart {
  std::vector<std::uint16_t> x;
  std::vector<std::int32_t> ids, counts, begin, sorted, row_of_pair;
  std::vector<float> weights, out_of_pairs, out_of_tokens;
};

struct DevicePart {
  explicit DevicePart(const HostPart& host)
      : x(host.x),
        counts(host.counts),
        begin(host.begin),
        sorted(host.sorted),
        row_of_pair(host.row_of_pair.size()),
        weights(host.weights),
        out_of_pairs(host.out_of_pairs),
        out_of_tokens(host.out_of_tokens) {}
  Buffer<std::uint16_t> x;
  Buffer<std::int32_t> counts, begin, sorted, row_of_pair;
  Buffer<float> weights, out_of_pairs, out_of_tokens;
};

// Every token's experts are different; shares are of every second expert whole and of the others the middle third.
struct Routed {
  Routed(const Sizes& sizes, const std::vector<std::int32_t>& tokens, std::uint64_t seed);

  // `out`: where rows go to, exact or partial.
  std::vector<kernels::Part> host_parts(bool exact);
  std::vector<kernels::Part> device_parts(bool exact) const;
  kernels::WorkBounds bounds(std::int32_t tile_tokens) const;

  Sizes sizes;
  std::vector<std::int32_t> tokens;
  std::vector<HostPart> host;
  std::vector<std::unique_ptr<DevicePart>> device;
  std::vector<kernels::Share> shares;
};

}  // namespace afore::bench::gpu
