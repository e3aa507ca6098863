#include "device/cuda/transfers.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "device/cuda/check.h"
#include "device/cuda/lane.h"
#include "device/cuda/shapes.h"
#include "device/cuda/transfer_ffn.h"
#include "util/error.h"

namespace afore::device::cuda {
namespace {

// Rounds that are enqueued before the host looks whether it is to stop.
constexpr std::int64_t kRoundsAtOnce = 256;
constexpr const char* kHint = "use smaller sizes, fewer experts or fewer --workers";

std::size_t most_receivers(std::span<const CopyPort> ports) {
  std::size_t most = 0;
  for (const CopyPort& port : ports) most = std::max(most, port.to.size());
  return most;
}

}  // namespace

struct CudaTransfers::Worker {
  Worker(int on, std::int64_t bytes, Partition partition)
      : gpu(on),
        arena({on, false, "an arena for experts", kHint}, static_cast<std::size_t>(bytes)),
        copies(on, Lane::Kind::copies),
        arrivals(on, Lane::Kind::copies),
        compute(on, Lane::Kind::compute, std::move(partition)),
        begin(on),
        ffn_begin(on),
        ffn_end(on),
        arrived(on) {}

  const int gpu;
  Memory arena;
  std::unique_ptr<TransferFfn> ffn;
  Lane copies, arrivals, compute;  // what it sends, when it has received, what it computes
  Event begin, ffn_begin, ffn_end, arrived;
};

CudaTransfers::CudaTransfers(const FoundGpus& gpus, const TransferOptions& options, CopyRouteMaker make_nccl)
    : gpus_(gpus),
      options_(options),
      make_nccl_(std::move(make_nccl)),
      partitions_(split_sms(gpus.gpus.front(), options.workers, options.sm_partitions)),
      gate_(gpus.gpus.front()) {
  AFORE_CHECK(!gpus.gpus.empty() && options.workers >= 1, "checked by the caller");
  join_peers(gpus_.gpus);  // where the machine cannot, copies go through the host
}

CudaTransfers::~CudaTransfers() = default;

std::vector<CopyPath> CudaTransfers::paths() const {
  std::vector<CopyPath> paths;
  for (const CopyPath path : {CopyPath::peer, CopyPath::nccl, CopyPath::d2d})
    if (why_not(path).empty()) paths.push_back(path);
  return paths;
}

std::string CudaTransfers::why_not(CopyPath path) const {
  if (path == CopyPath::d2d) return "";
  if (path == CopyPath::host) return "it is within the host";
  if (path == CopyPath::nccl && !make_nccl_) return "NCCL was not there when this was built";
  if (options_.workers < 2) return "it is between two workers at least";
  if (std::ssize(gpus_.gpus) >= options_.workers) return "";
  return fmt::format("{} workers need {} GPUs, and there {} {}", options_.workers, options_.workers,
                     gpus_.gpus.size() == 1 ? "is" : "are", gpus_.gpus.size());
}

int CudaTransfers::gpu_of(CopyPath path, int worker) const {
  return gpus_.gpus[path == CopyPath::d2d ? 0 : static_cast<std::size_t>(worker)];
}

DeviceInfo CudaTransfers::info(CopyPath path) const {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, gpus_.gpus.front()), "asking what a GPU is");
  const bool shared = path == CopyPath::d2d && options_.workers > 1;
  return {.kind = "cuda",
          .name = gpus_.model,
          .arithmetic = fmt::format("sm_{}{}", properties.major, properties.minor),
          .units = static_cast<int>(std::ssize(gpus_.gpus)),
          .workers_per_unit = shared ? options_.workers : 1,
          .virtual_workers = shared,
          .sm_split = shared ? std::optional(partitions_.split) : std::nullopt};
}

std::int64_t CudaTransfers::available_bytes(CopyPath path) const {
  const std::int64_t free = gpus_.free_bytes();
  return path == CopyPath::d2d ? free / options_.workers : free;
}

void CudaTransfers::reserve(CopyPath path, std::int64_t bytes_per_worker) {
  AFORE_CHECK(why_not(path).empty(), "the path is there");
  route_.reset();
  workers_.clear();
  arena_bytes_ = bytes_per_worker;
  for (int w = 0; w < options_.workers; ++w)
    workers_.push_back(
        std::make_unique<Worker>(gpu_of(path, w), bytes_per_worker,
                                 path == CopyPath::d2d ? partitions_.of[static_cast<std::size_t>(w)] : nullptr));
  std::vector<Lane*> lanes;
  for (const auto& there : workers_) lanes.push_back(&there->copies);
  route_ = path == CopyPath::nccl ? make_nccl_(lanes) : make_engine_route(lanes);
}

std::int64_t CudaTransfers::stride_bytes(std::int64_t slot_bytes) const { return slot_stride(slot_bytes); }

std::int64_t CudaTransfers::cut(std::int64_t slot_bytes) {
  AFORE_CHECK(slot_bytes > 0 && slot_bytes <= arena_bytes_, "a slot fits its arena");
  slot_bytes_ = slot_bytes;
  return std::max<std::int64_t>(1, arena_bytes_ / stride_bytes(slot_bytes));
}

std::byte* CudaTransfers::slot(int index, std::int64_t slot) const {
  const std::int64_t at = slot * stride_bytes(slot_bytes_);
  AFORE_CHECK(slot >= 0 && at + slot_bytes_ <= arena_bytes_, "the slot exists");
  return worker(index).arena.data() + at;
}

// --- Bytes of a slot, from and to the host

void CudaTransfers::fill(int index, std::int64_t to, std::uint64_t seed, PatternKind kind) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(slot_bytes_));
  fill_pattern(bytes, seed, index, to, kind);
  Worker& there = worker(index);
  use(there.gpu);
  check(cudaMemcpyAsync(slot(index, to), bytes.data(), bytes.size(), cudaMemcpyHostToDevice, there.compute.stream()),
        "filling a slot");
  check(cudaStreamSynchronize(there.compute.stream()), "filling a slot");
}

void CudaTransfers::clear(int index, std::int64_t to) {
  Worker& there = worker(index);
  use(there.gpu);
  check(cudaMemsetAsync(slot(index, to), 0, static_cast<std::size_t>(slot_bytes_), there.compute.stream()),
        "clearing a slot");
  check(cudaStreamSynchronize(there.compute.stream()), "clearing a slot");
}

std::int64_t CudaTransfers::count_wrong(int index, std::int64_t at, std::uint64_t seed, PatternKind kind, int from,
                                        std::int64_t from_slot) const {
  std::vector<std::byte> bytes(static_cast<std::size_t>(slot_bytes_));
  Worker& there = worker(index);
  use(there.gpu);
  check(cudaMemcpyAsync(bytes.data(), slot(index, at), bytes.size(), cudaMemcpyDeviceToHost, there.compute.stream()),
        "reading a slot");
  check(cudaStreamSynchronize(there.compute.stream()), "reading a slot");
  return afore::count_wrong(bytes, seed, from, from_slot, kind);
}

// --- Copies

// Each port to its receiver number `place`, where it has so many; all at the same time.
void CudaTransfers::send_together(std::span<const CopyPort> ports, std::size_t place, std::int64_t from_slot,
                                  std::int64_t to_slot) {
  std::vector<SlotCopy> together;
  for (const CopyPort& port : ports)
    if (place < port.to.size())
      together.push_back({port.from, port.to[place], slot(port.from, from_slot), slot(port.to[place], to_slot)});
  route_->copy(together, static_cast<std::size_t>(slot_bytes_));
}

// FFNs first: nothing of them waits for copies, which may have a time limit of their own.
void CudaTransfers::wait_for_all() const {
  for (const auto& there : workers_) {
    use(there->gpu);
    check(cudaStreamSynchronize(there->compute.stream()), "waiting for a GPU");
  }
  route_->wait();
  for (const auto& there : workers_) {
    use(there->gpu);
    check(cudaStreamSynchronize(there->arrivals.stream()), "waiting for a GPU");
  }
}

std::optional<std::vector<std::vector<double>>> CudaTransfers::time_rounds(std::span<const CopyPort> ports,
                                                                           const CopyRounds& rounds) {
  std::vector<std::vector<double>> times_us(ports.size());
  std::vector<std::vector<std::unique_ptr<Event>>> marks(ports.size());  // before the first round, and after each
  for (std::size_t p = 0; p < ports.size(); ++p)
    for (std::int64_t i = 0; i <= std::min(rounds.count, kRoundsAtOnce); ++i)
      marks[p].push_back(std::make_unique<Event>(worker(ports[p].from).gpu));
  for (std::int64_t done = 0; done < rounds.count; done += kRoundsAtOnce) {
    if (options_.stop != nullptr && *options_.stop != 0) return std::nullopt;
    const std::int64_t count = std::min(kRoundsAtOnce, rounds.count - done);
    for (std::size_t p = 0; p < ports.size(); ++p) {
      const Worker& from = worker(ports[p].from);
      use(from.gpu);
      marks[p][0]->record(from.copies.stream());
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t at = (rounds.first + done + i) % rounds.slots;
      for (std::size_t r = 0; r < most_receivers(ports); ++r) send_together(ports, r, at, at);
      for (std::size_t p = 0; p < ports.size(); ++p) {
        use(worker(ports[p].from).gpu);
        marks[p][static_cast<std::size_t>(i) + 1]->record(route_->sent(ports[p].from));
      }
    }
    wait_for_all();
    for (std::size_t p = 0; p < ports.size(); ++p)
      for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
        times_us[p].push_back(static_cast<double>(marks[p][i + 1]->since(*marks[p][i])) / 1e3);
  }
  return times_us;
}

// --- FFN, and copies beside it

std::int64_t CudaTransfers::tile_tokens() const { return options_.tile_tokens; }

std::int64_t CudaTransfers::expert_bytes(const ExpertSizes& sizes) const {
  return kernels::expert_bytes(static_cast<std::int32_t>(sizes.hidden), static_cast<std::int32_t>(sizes.intermediate));
}

void CudaTransfers::prepare_ffn(const ExpertSizes& sizes, int most_experts, std::int64_t most_rows,
                                std::uint64_t seed) {
  if (sizes.hidden % 8 != 0 || sizes.intermediate % 8 != 0)
    throw Error(ErrorKind::usage, fmt::format("experts of {} x {}: GPUs compute sizes that are multiples of 8",
                                              sizes.hidden, sizes.intermediate));
  AFORE_CHECK(slot_bytes_ == expert_bytes(sizes), "slots are cut to experts");
  sizes_ = sizes;
  for (const auto& there : workers_) {
    use(there->gpu);
    there->ffn =
        std::make_unique<TransferFfn>(there->gpu, there->compute.stream(), sizes, most_experts, most_rows, seed);
  }
}

void CudaTransfers::send(const Mix& mix, StartGate::Shut& gate, std::vector<Sent>& sent) {
  std::vector<std::shared_ptr<Event>> begins;
  for (const CopyPort& port : mix.ports) {
    const Worker& from = worker(port.from);
    use(from.gpu);
    begins.push_back(std::make_shared<Event>(from.gpu));
    begins.back()->record(from.copies.stream());
  }
  int held = 0;
  for (std::size_t r = 0; r < most_receivers(mix.ports); ++r) {
    for (int i = 0; i < mix.copies; ++i) {
      if ((held += route_->operations_per_copy()) >= StartGate::kMostHeld) gate.open();
      send_together(mix.ports, r, i % mix.experts, mix.experts + i);
    }
    for (std::size_t p = 0; p < mix.ports.size(); ++p) {
      const CopyPort& port = mix.ports[p];
      if (r >= port.to.size()) continue;
      sent.push_back({port.from, port.to[r], begins[p], std::make_unique<Event>(worker(port.from).gpu)});
      mark_arrival(sent.back());
    }
  }
}

// The receiver's stream waits for what it receives, so that arrivals are on the clock of the receiver's GPU.
void CudaTransfers::mark_arrival(Sent& one) {
  use(worker(one.from).gpu);
  one.end->record(route_->sent(one.from));
  Worker& receiver = worker(one.to);
  use(receiver.gpu);
  check(cudaStreamWaitEvent(receiver.arrivals.stream(), one.end->get(), 0), "ordering a GPU");
  receiver.arrived.record(receiver.arrivals.stream());
}

MixTimes CudaTransfers::run(const Mix& mix) {
  for (int w = 0; w < mix.ffn_workers; ++w)
    worker(w).ffn->set_work({worker(w).arena.data(), stride_bytes(slot_bytes_),
                             static_cast<std::int32_t>(sizes_.hidden), static_cast<std::int32_t>(sizes_.intermediate)},
                            mix.experts, mix.tokens, options_.tile_tokens);
  std::vector<Sent> sent;
  {
    StartGate::Shut gate(gate_);
    for (const auto& there : workers_) {
      use(there->gpu);
      gate.hold(there->arrivals.stream());
      gate.hold(there->copies.stream());
      there->begin.record(there->arrivals.stream());
    }
    for (int w = 0; w < mix.ffn_workers; ++w) {
      Worker& there = worker(w);
      use(there.gpu);
      gate.hold(there.compute.stream());
      there.ffn_begin.record(there.compute.stream());
      there.ffn->launch(there.compute.stream());
      there.ffn_end.record(there.compute.stream());
    }
    send(mix, gate, sent);
  }
  wait_for_all();
  MixTimes times{std::vector<TimeSpan>(workers_.size()), std::vector<TimeSpan>(workers_.size())};
  for (int w = 0; w < mix.ffn_workers; ++w)
    times.ffn[static_cast<std::size_t>(w)] = {worker(w).ffn_begin.since(worker(w).begin),
                                              worker(w).ffn_end.since(worker(w).begin)};
  for (const Sent& one : sent) {
    const Nanos end_ns = worker(one.to).arrived.since(worker(one.to).begin);
    times.arrivals[static_cast<std::size_t>(one.to)] = {end_ns - one.end->since(*one.begin), end_ns};
  }
  return times;
}

}  // namespace afore::device::cuda
