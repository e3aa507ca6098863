#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <map>
#include <optional>

#include "device/cuda/rendezvous_roster.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

constexpr std::chrono::milliseconds kFirstPause{2}, kLongestPause{50};
constexpr std::chrono::seconds kFarewell{1};  // for the others to read that it has failed
constexpr std::size_t kMaxFileBytes = kMaxPayloadBytes + 64;

[[noreturn]] void fail(const std::string& path, int error) {
  throw Error(ErrorKind::io, fmt::format("{}: {}", path, std::strerror(error)),
              "the folder must be seen, and be writable, by all ranks");
}

// Readers see the whole file or none of it.
void put_file(const std::string& path, const Frame& frame) {
  const std::string unfinished = fmt::format("{}.tmp{:016x}", path, fresh_nonce());
  int number = -1;
  do number = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  while (number < 0 && errno == EINTR);
  if (number < 0) fail(unfinished, errno);
  const Descriptor file(number);
  const std::string bytes = encode(frame);
  int error = 0;
  for (std::size_t done = 0; done < bytes.size() && error == 0;) {
    const ssize_t put = ::write(number, bytes.data() + done, bytes.size() - done);
    if (put >= 0) done += static_cast<std::size_t>(put);
    else if (errno != EINTR) error = errno;
  }
  if (error == 0 && ::rename(unfinished.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(unfinished.c_str());
  fail(path, error);
}

// Nothing: there is no such file, or none of ours.
std::optional<Frame> get_file(const std::string& path, FrameKind kind) {
  int number = -1;
  do number = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // does not wait for the writer of a pipe
  while (number < 0 && errno == EINTR);
  if (number < 0 && (errno == ENOENT || errno == ESTALE)) return std::nullopt;
  if (number < 0) fail(path, errno);
  const Descriptor file(number);
  std::string bytes(kMaxFileBytes, '\0');
  std::size_t size = 0;
  while (size < bytes.size()) {
    const ssize_t got = ::read(number, bytes.data() + size, bytes.size() - size);
    if (got > 0) size += static_cast<std::size_t>(got);
    else if (got == 0) break;
    else if (errno == ESTALE || errno == EAGAIN) return std::nullopt;
    else if (errno != EINTR) fail(path, errno);
  }
  std::optional<Frame> frame = decode_frame(std::string_view(bytes).substr(0, size));
  if (frame && frame->kind != kind) return std::nullopt;
  return frame;
}

std::string answer_path(const std::string& path, int rank) { return fmt::format("{}.rank{}", path, rank); }
std::string verdict_path(const std::string& path) { return path + ".verdict"; }

// Calls `step` until it says true, with growing pauses; false: the deadline, which may move, has passed.
template <typename Step, typename Until>
bool repeat(const Step& step, const Until& until) {
  Clock::duration pause = kFirstPause;
  for (;;) {
    if (step()) return true;
    if (Clock::now() >= until()) return false;
    poll_until({}, std::min(until(), Clock::now() + pause));
    pause = std::min<Clock::duration>(2 * pause, kLongestPause);
  }
}

class Offerer {
 public:
  Offerer(const RendezvousConfig& config, Deadline deadline, const std::string& path, std::span<std::byte> blob)
      : config_(config), deadline_(deadline), path_(path), roster_(config, deadline, blob.size()) {
    offer_ = {.nonce = fresh_nonce(),
              .world_size = static_cast<std::uint32_t>(config.world_size),
              .token = config.job_token,
              .blob = std::string(reinterpret_cast<const char*>(blob.data()), blob.size())};
  }
  ~Offerer() {
    ::unlink(path_.c_str());
    ::unlink(verdict_path(path_).c_str());
    for (const auto& [rank, name] : answers()) ::unlink(name.c_str());
  }
  Offerer(const Offerer&) = delete;
  Offerer& operator=(const Offerer&) = delete;

  void run() {
    put_file(path_, {FrameKind::offer, encode(offer_)});
    try {
      if (!repeat([&] { return read_answers(), roster_.complete(); }, [&] { return roster_.deadline(); }))
        throw Error(ErrorKind::io, roster_.missing());
    } catch (const Error& error) {
      give_verdict(error.what());
      repeat([&] { return answers().empty(); }, [&] { return std::min(deadline_, farewell_); });
      throw;
    }
    give_verdict("");
    // Whoever has read the verdict takes its answer away, and only then may the verdict go.
    if (!repeat([&] { return answers().empty(); }, [&] { return deadline_; }))
      throw Error(ErrorKind::io, fmt::format("rank {} did not read the verdict at {} within {}",
                                             answers().begin()->first, path_, seconds(config_.timeout)));
  }

 private:
  std::map<std::uint64_t, std::string> answers() const {
    std::map<std::uint64_t, std::string> result;
    const std::filesystem::path path(path_);
    const std::string prefix = path.filename().string() + ".rank";
    const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : std::filesystem::path(".");
    std::error_code error;
    for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end;
         entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (!name.starts_with(prefix)) continue;
      std::uint64_t rank = 0;
      const auto [rest, bad] = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), rank);
      if (bad == std::errc() && rest == name.data() + name.size()) result[rank] = entry->path().string();
    }
    return result;
  }

  void read_answers() {
    for (const auto& [rank, name] : answers()) {
      const std::optional<Frame> frame = get_file(name, FrameKind::answer);
      const std::optional<Answer> answer = frame ? decode_answer(frame->payload) : std::nullopt;
      if (!answer || answer->offer_nonce != offer_.nonce || answer->greeting.rank != rank) continue;  // of an older run
      roster_.check_fits(answer->greeting);
      if (roster_.has(static_cast<int>(rank))) continue;
      roster_.arrived(answer->greeting);
      roster_.received(static_cast<int>(rank));
    }
  }

  void give_verdict(const std::string& text) {
    farewell_ = Clock::now() + kFarewell;
    Verdict verdict{{offer_.nonce}, text};
    for (int rank = 1; rank < config_.world_size; ++rank) verdict.nonces.push_back(roster_.nonce(rank));
    put_file(verdict_path(path_), {FrameKind::verdict, encode(verdict)});
  }

  const RendezvousConfig& config_;
  const Deadline deadline_;
  const std::string& path_;
  Roster roster_;
  Offer offer_;
  Deadline farewell_;
};

class Answerer {
 public:
  Answerer(const RendezvousConfig& config, Deadline deadline, const std::string& path, std::span<std::byte> blob)
      : config_(config), deadline_(deadline), path_(path), blob_(blob), nonce_(fresh_nonce()) {}

  void run() {
    const bool ended = repeat([&] { return look_for_offer(), read_verdict(); }, [&] { return deadline_; });
    if (answered_) ::unlink(answer_path(path_, config_.rank).c_str());
    if (!failure_.empty()) throw Error(ErrorKind::io, failure_);
    if (ended) return;
    throw Error(ErrorKind::io, answered_ ? fmt::format("rank 0 did not say at {} within {} whether all ranks came",
                                                       path_, seconds(config_.timeout))
                                         : fmt::format("rank 0 did not come within {} ({}: {})",
                                                       seconds(config_.timeout), path_, trouble_));
  }

 private:
  void look_for_offer() {
    const std::optional<Frame> frame = get_file(path_, FrameKind::offer);
    std::optional<Offer> offer = frame ? decode_offer(frame->payload) : std::nullopt;
    if (!offer || (answered_ && offer->nonce == offer_.nonce)) return;
    if (offer->token != config_.job_token) {
      trouble_ =
          fmt::format("the file there is of job '{}', this is job '{}'", printable(offer->token), config_.job_token);
      return;
    }
    offer_ = std::move(*offer);
    put_file(answer_path(path_, config_.rank),
             {FrameKind::answer, encode(Answer{offer_.nonce, greeting_of(config_, deadline_, blob_.size(), nonce_)})});
    answered_ = true;
  }

  // True: it is ours, and the exchange is over.
  bool read_verdict() {
    if (!answered_) return false;
    const std::optional<Frame> frame = get_file(verdict_path(path_), FrameKind::verdict);
    const std::optional<Verdict> verdict = frame ? decode_verdict(frame->payload) : std::nullopt;
    if (!verdict || verdict->nonces.empty() || verdict->nonces[0] != offer_.nonce) return false;
    if (!verdict->text.empty()) {  // of this run of rank 0, so it holds for whoever has answered it
      failure_ = printable(verdict->text);
      return true;
    }
    const auto rank = static_cast<std::size_t>(config_.rank);
    if (rank >= verdict->nonces.size() || verdict->nonces[rank] != nonce_) return false;
    if (offer_.blob.size() != blob_.size()) return false;
    std::memcpy(blob_.data(), offer_.blob.data(), blob_.size());
    return true;
  }

  const RendezvousConfig& config_;
  const Deadline deadline_;
  const std::string& path_;
  const std::span<std::byte> blob_;
  const std::uint64_t nonce_;
  bool answered_ = false;
  Offer offer_;
  std::string trouble_ = "no such file";
  std::string failure_;
};

}  // namespace

void exchange_through_file(const RendezvousConfig& config, const std::string& path, std::span<std::byte> blob) {
  const Deadline deadline = Clock::now() + config.timeout;
  check(config, blob.size());
  if (config.world_size == 1) return;
  if (config.rank == 0) Offerer(config, deadline, path, blob).run();
  else Answerer(config, deadline, path, blob).run();
}

}  // namespace afore::device::cuda
