#include "device/cuda/rendezvous_roster.h"

#include <fmt/format.h>

#include <algorithm>

#include "util/error.h"

namespace afore::device::cuda {
namespace {

constexpr int kMaxWorldSize = 8000;  // a verdict, with 8 bytes a rank, is one frame
constexpr std::size_t kMaxTokenBytes = 256;
constexpr int kMaxListed = 16;
constexpr std::chrono::milliseconds kMaxMargin{500};

}  // namespace

void check(const RendezvousConfig& config, std::size_t blob_bytes) {
  if (config.world_size < 1 || config.world_size > kMaxWorldSize)
    throw Error(ErrorKind::usage,
                fmt::format("a world of {} ranks: 1 to {} are possible", config.world_size, kMaxWorldSize));
  if (config.rank < 0 || config.rank >= config.world_size)
    throw Error(ErrorKind::usage, fmt::format("rank {} of {}: ranks go from 0 to {}", config.rank, config.world_size,
                                              config.world_size - 1));
  if (config.job_token.size() > kMaxTokenBytes)
    throw Error(ErrorKind::usage, fmt::format("the name of the job has {} bytes: {} are possible",
                                              config.job_token.size(), kMaxTokenBytes));
  AFORE_CHECK(blob_bytes <= kMaxBlobBytes, "the blob is too large for a rendezvous");
}

Clock::duration patience(const RendezvousConfig& config, Deadline deadline) {
  const Clock::duration margin = std::min<Clock::duration>(config.timeout / 10, kMaxMargin);
  return std::max(deadline - Clock::now() - margin, Clock::duration::zero());
}

Greeting greeting_of(const RendezvousConfig& config, Deadline deadline, std::size_t blob_bytes, std::uint64_t nonce) {
  const auto patience_ms = std::chrono::floor<std::chrono::milliseconds>(patience(config, deadline)).count();
  return {.world_size = static_cast<std::uint32_t>(config.world_size),
          .rank = static_cast<std::uint32_t>(config.rank),
          .blob_bytes = static_cast<std::uint32_t>(blob_bytes),
          .patience_ms = static_cast<std::uint32_t>(std::min<std::int64_t>(patience_ms, UINT32_MAX)),
          .nonce = nonce,
          .token = config.job_token};
}

std::string seconds(std::chrono::milliseconds time) {
  return fmt::format("{} s", static_cast<double>(time.count()) / 1e3);
}

Roster::Roster(const RendezvousConfig& config, Deadline deadline, std::size_t blob_bytes)
    : config_(config), blob_bytes_(blob_bytes), deadline_(Clock::now() + patience(config, deadline)) {
  states_.resize(static_cast<std::size_t>(config.world_size));
  states_[0] = {.here = true, .received = true, .came_once = true};
}

std::optional<std::string> Roster::stranger(const Greeting& greeting) const {
  if (greeting.token == config_.job_token) return std::nullopt;
  return fmt::format("rank {} is of job '{}', and rank 0 of job '{}'", greeting.rank, printable(greeting.token),
                     config_.job_token);
}

void Roster::check_fits(const Greeting& greeting) const {
  if (greeting.world_size != static_cast<std::uint32_t>(config_.world_size))
    throw Error(ErrorKind::io, fmt::format("rank {} was started in a world of {} ranks, and rank 0 in one of {}",
                                           greeting.rank, greeting.world_size, config_.world_size));
  if (greeting.rank == 0 || greeting.rank >= greeting.world_size)
    throw Error(ErrorKind::io,
                fmt::format("another process says that it is rank {} of {}", greeting.rank, greeting.world_size));
  if (greeting.blob_bytes != blob_bytes_)
    throw Error(ErrorKind::io, fmt::format("rank {} expects {} bytes, and rank 0 has {}", greeting.rank,
                                           greeting.blob_bytes, blob_bytes_));
  const State& state = states_[greeting.rank];
  if (state.here && state.nonce != greeting.nonce)
    throw Error(ErrorKind::io,
                fmt::format("two processes say that they are rank {} of {}", greeting.rank, greeting.world_size));
}

void Roster::arrived(const Greeting& greeting) {
  states_[greeting.rank] = {.here = true, .received = false, .came_once = true, .nonce = greeting.nonce};
  const Deadline theirs = Clock::now() + std::chrono::milliseconds(greeting.patience_ms);
  // Ranks of one launch begin at nearly one time: that is not worth a word.
  if (theirs < deadline_ - config_.timeout / 10) hasty_ = static_cast<int>(greeting.rank);
  deadline_ = std::min(deadline_, theirs);
}

void Roster::left(int rank) { states_[rank].here = states_[rank].received = false; }

bool Roster::complete() const {
  return std::all_of(states_.begin(), states_.end(), [](const State& state) { return state.here && state.received; });
}

// "ranks 2, 5" of those that are missing and did, or did not, come once; empty: there are none.
std::string Roster::list(bool came_once) const {
  std::string text;
  int count = 0;
  for (std::size_t rank = 0; rank < states_.size(); ++rank) {
    const State& state = states_[rank];
    if ((state.here && state.received) || state.came_once != came_once) continue;
    if (++count <= kMaxListed) text += fmt::format("{}{}", count == 1 ? "" : ", ", rank);
  }
  if (count > kMaxListed) text += fmt::format(" and {} more", count - kMaxListed);
  return count == 0 ? "" : (count == 1 ? "rank " : "ranks ") + text;
}

std::string Roster::missing() const {
  const std::string never = list(false), gone = list(true);
  const std::string within =
      hasty_ == 0 ? " within " + seconds(config_.timeout) : fmt::format(" before rank {} gave up", hasty_);
  std::string text;
  if (!never.empty()) text = never + " did not come" + within;
  if (!gone.empty()) text += (text.empty() ? "" : "; ") + gone + " came, but did not stay to the end";
  return text;
}

}  // namespace afore::device::cuda
