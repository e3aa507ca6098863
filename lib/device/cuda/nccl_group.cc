#include "device/cuda/nccl_group.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>

#include "device/cuda/rendezvous_roster.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

constexpr NcclGroup::Timeout kWelcome{60'000};

}  // namespace

NcclGroup::NcclGroup(const ncclUniqueId& id, int world_size, std::span<const LocalRank> ranks, Timeout timeout)
    : ranks_(id, world_size, ranks, timeout) {}

NcclGroup::~NcclGroup() {
  if (const std::string why = turnstile_.broken(); !why.empty()) ranks_.abort(why);
}

void NcclGroup::all_reduce(std::uint64_t sequence, std::span<const SumPart> parts, Timeout timeout) {
  const Deadline deadline = Clock::now() + timeout;
  AFORE_CHECK(parts.size() == ranks_.ranks().size(), "a sum has one part for each rank of the process");
  for (const SumPart& part : parts) AFORE_CHECK(part.count == parts[0].count, "all parts of a sum have one size");
  turnstile_.enter(sequence, deadline);
  try {
    const auto ask = [&](NcclRanks::Comms comms) {
      for (std::size_t i = 0; i < comms.size(); ++i) {
        const SumPart& part = part_of(ranks_.ranks()[i].rank, parts);
        must("a sum cannot begin",
             ncclAllReduce(part.send, part.receive, part.count, ncclFloat, ncclSum, comms[i], part.stream));
      }
    };
    ranks_.together("a sum cannot begin", ask, deadline,
                    fmt::format("sum {} was not begun within {}", sequence, seconds(timeout)));
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
  turnstile_.leave();
}

const SumPart& NcclGroup::part_of(int rank, std::span<const SumPart> parts) const {
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const SumPart& p) { return p.rank == rank; });
  AFORE_CHECK(part != parts.end(), "a sum has one part for each rank of the process");
  return *part;
}

void NcclGroup::check() {
  if (const std::string why = turnstile_.broken(); !why.empty()) ranks_.abort(why);
  try {
    ranks_.check();
  } catch (const std::exception& error) {
    abort(error.what());
    throw;
  }
}

void NcclGroup::abort(const std::string& why) noexcept {
  turnstile_.break_off(why);
  ranks_.abort(turnstile_.broken());  // the first reason
}

std::unique_ptr<SumGroup> make_nccl_group(std::span<const LocalRank> ranks) {
  return std::make_unique<NcclGroup>(new_nccl_id(), static_cast<int>(ranks.size()), ranks, kWelcome);
}

}  // namespace afore::device::cuda
