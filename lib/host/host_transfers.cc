#include "host/host_transfers.h"

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>
#include <thread>

#include "host/at_once.h"
#include "util/error.h"
#include "util/rng.h"

namespace afore::host {
namespace {

using namespace device;

// A large expert moves in pieces, as on the lane of an FFN worker.
constexpr std::size_t kCopyPieceBytes = 256 << 10;

std::string processor_name() {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(':');
    if (line.starts_with("model name") && colon != std::string::npos && colon + 2 < line.size())
      return line.substr(colon + 2);
  }
  return "unknown processor";
}

}  // namespace

HostTransfers::HostTransfers(const TransferOptions& options)
    : options_(options), kernels_(cpu::Kernels::of(cpu::best_isa())) {
  AFORE_CHECK(options.workers >= 1 && options.worker_threads >= 1, "checked by the caller");
}

HostTransfers::~HostTransfers() = default;

DeviceInfo HostTransfers::info(CopyPath) const {
  return {.kind = "cpu",
          .name = processor_name(),
          .arithmetic = cpu::to_string(kernels_.isa()),
          .units = static_cast<int>(std::max(1u, std::thread::hardware_concurrency())),
          .workers_per_unit = options_.workers,
          .virtual_workers = true};
}

std::int64_t HostTransfers::available_bytes(CopyPath) const {
  return migrate::available_memory_bytes() / options_.workers;
}

void HostTransfers::reserve(CopyPath path, std::int64_t bytes_per_worker) {
  AFORE_CHECK(path == CopyPath::host, "a path of this device");
  arenas_.clear();
  for (int worker = 0; worker < options_.workers; ++worker) arenas_.emplace_back(bytes_per_worker);
}

std::int64_t HostTransfers::cut(std::int64_t slot_bytes) {
  for (migrate::Arena& arena : arenas_) arena.cut(slot_bytes);
  return arenas_.front().slots();
}

std::int64_t HostTransfers::stride_bytes(std::int64_t slot_bytes) const { return migrate::slot_stride(slot_bytes); }

void HostTransfers::fill(int worker, std::int64_t slot, std::uint64_t seed, PatternKind kind) {
  fill_pattern(arena(worker).slot(slot), seed, worker, slot, kind);
}

void HostTransfers::clear(int worker, std::int64_t slot) { std::ranges::fill(arena(worker).slot(slot), std::byte{0}); }

std::int64_t HostTransfers::count_wrong(int worker, std::int64_t slot, std::uint64_t seed, PatternKind kind, int from,
                                        std::int64_t from_slot) const {
  return afore::count_wrong(arenas_[static_cast<std::size_t>(worker)].slot(slot), seed, from, from_slot, kind);
}

// --- Rounds of copies

void HostTransfers::copy_rounds(const CopyPort& port, const CopyRounds& rounds, std::vector<double>& times_us) {
  const WallClock clock;
  Nanos before = clock.now();
  for (std::int64_t round = 0; round < rounds.count && !stopped(); ++round) {
    const std::int64_t slot = (rounds.first + round) % rounds.slots;
    const auto source = arena(port.from).slot(slot);
    for (const int to : port.to) std::memcpy(arena(to).slot(slot).data(), source.data(), source.size());
    const Nanos after = clock.now();
    times_us[static_cast<std::size_t>(round)] = static_cast<double>(after - before) / 1e3;
    before = after;
  }
}

std::optional<std::vector<std::vector<double>>> HostTransfers::time_rounds(std::span<const CopyPort> ports,
                                                                           const CopyRounds& rounds) {
  std::vector<std::vector<double>> times_us(ports.size(), std::vector<double>(static_cast<std::size_t>(rounds.count)));
  std::vector<std::function<void()>> jobs;
  for (std::size_t i = 0; i < ports.size(); ++i)
    jobs.push_back([this, &rounds, &port = ports[i], &times = times_us[i]] { copy_rounds(port, rounds, times); });
  run_at_once(jobs);
  if (stopped()) return std::nullopt;
  return times_us;
}

// --- FFN, and copies beside it

std::int64_t HostTransfers::tile_tokens() const { return cpu::kTileTokens; }

std::int64_t HostTransfers::expert_bytes(const ExpertSizes& sizes) const {
  return static_cast<std::int64_t>(cpu::ExpertShape{sizes.hidden, sizes.intermediate}.bytes());
}

void HostTransfers::prepare_ffn(const ExpertSizes& sizes, int most_experts, std::int64_t most_rows,
                                std::uint64_t seed) {
  shape_ = {sizes.hidden, sizes.intermediate};
  workers_.clear();
  Rng rng(seed);
  for (int w = 0; w < options_.workers; ++w) {
    auto worker = std::make_unique<Worker>();
    if (options_.worker_threads > 1) worker->pool = std::make_unique<cpu::ThreadPool>(options_.worker_threads);
    worker->x.resize(static_cast<std::size_t>(most_rows * sizes.hidden));
    worker->y.resize(worker->x.size());
    for (float& value : worker->x) value = static_cast<float>(rng.normal());
    for (std::int64_t row = 0; row < most_rows; ++row) {
      worker->x_rows.push_back(worker->x.data() + row * sizes.hidden);
      worker->y_rows.push_back(worker->y.data() + row * sizes.hidden);
    }
    worker->experts.reserve(static_cast<std::size_t>(most_experts));
    workers_.push_back(std::move(worker));
  }
}

void HostTransfers::lay_out(int index, const Mix& mix) {
  Worker& worker = *workers_[static_cast<std::size_t>(index)];
  const auto tokens = static_cast<std::size_t>(mix.tokens);
  AFORE_CHECK(worker.x_rows.size() >= tokens * static_cast<std::size_t>(mix.experts), "prepare_ffn made room");
  worker.experts.clear();
  for (int e = 0; e < mix.experts; ++e) {
    const std::size_t first = static_cast<std::size_t>(e) * tokens;
    worker.experts.push_back({arena(index).slot(e).data(), std::span(worker.x_rows).subspan(first, tokens),
                              std::span(worker.y_rows).subspan(first, tokens)});
  }
}

void HostTransfers::send(const CopyPort& port, const Mix& mix, const WallClock& clock, MixTimes& times) {
  const Nanos begin_ns = clock.now();
  for (const int to : port.to) {
    for (int copy = 0; copy < mix.copies; ++copy) {
      const auto from = arena(port.from).slot(copy % mix.experts);
      const auto into = arena(to).slot(mix.experts + copy);
      for (std::size_t at = 0; at < from.size(); at += kCopyPieceBytes)
        std::memcpy(into.data() + at, from.data() + at, std::min(kCopyPieceBytes, from.size() - at));
    }
    times.arrivals[static_cast<std::size_t>(to)] = {begin_ns, clock.now()};
  }
}

MixTimes HostTransfers::run(const Mix& mix) {
  MixTimes times{std::vector<TimeSpan>(static_cast<std::size_t>(options_.workers)),
                 std::vector<TimeSpan>(static_cast<std::size_t>(options_.workers))};
  const WallClock clock;
  std::vector<std::function<void()>> jobs;
  for (int w = 0; w < mix.ffn_workers; ++w) {
    lay_out(w, mix);
    jobs.push_back([this, &clock, &worker = *workers_[static_cast<std::size_t>(w)],
                    &span = times.ffn[static_cast<std::size_t>(w)]] {
      span.begin_ns = clock.now();
      kernels_.expert_ffn(shape_, worker.experts, worker.scratch, worker.pool.get());
      span.end_ns = clock.now();
    });
  }
  for (const CopyPort& port : mix.ports)
    jobs.push_back([this, &mix, &port, &clock, &times] { send(port, mix, clock, times); });
  run_at_once(jobs);
  return times;
}

}  // namespace afore::host
