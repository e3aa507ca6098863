#include "device/cuda/step.h"

#include <algorithm>

#include "device/cuda/check.h"
#include "device/cuda/gpus.h"
#include "device/draw.h"

namespace afore::device::cuda {
namespace {

constexpr const char* kWhat = "memory for a step's activations";
constexpr const char* kHint = "give a smaller --max-num-batched-tokens";

// Arrays of a block, each aligned for whole vectors.
class Carver {
 public:
  explicit Carver(std::byte* base) : base_(base) {}
  template <class T>
  T* take(std::int64_t count, std::int64_t align = 256) {
    at_ = (at_ + align - 1) / align * align;
    T* const here = base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + at_);
    at_ += count * static_cast<std::int64_t>(sizeof(T));
    return here;
  }
  std::int64_t at() const { return at_; }

 private:
  std::byte* base_;
  std::int64_t at_ = 0;
};

// The draw as float32, still below 1.
float uniform(const Slice& slice) {
  return std::min(static_cast<float>(draw(slice.sampling.seed, slice.sample_index)), 0x1.fffffep-1f);
}

std::int64_t runs_of(const Slice& slice) {
  return slice.tokens > 1 ? (slice.tokens + kernels::kQueryTile - 1) / kernels::kQueryTile : 0;
}

}  // namespace

Routed routed_at(std::byte* base, std::int64_t tokens, std::int32_t experts, std::int32_t top_k, std::int32_t hidden) {
  Carver carver(base);
  Routed routed;
  routed.counts = carver.take<std::int32_t>(experts);
  routed.not_finite = carver.take<std::int32_t>(2, sizeof(std::int32_t));
  routed.told_bytes = carver.at();
  routed.begin = carver.take<std::int32_t>(experts + 1);
  routed.sorted = carver.take<std::int32_t>(tokens * top_k);
  routed.weights = carver.take<float>(tokens * top_k);
  routed.x = carver.take<std::uint16_t>(tokens * hidden);
  routed.bytes = carver.at();
  return routed;
}

CudaStep::CudaStep(const StepPlace& place, Lane& lane)
    : residual({place.gpu, false, kWhat, kHint}),
      shared({place.gpu, false, kWhat, kHint}),
      y({place.gpu, !place.peers && place.sums.empty(), kWhat, kHint}),
      tokens_out({place.gpu, true, kWhat, kHint}),
      logits_out({place.gpu, true, kWhat, kHint}),
      used(place.gpu, kWhat),
      place_(place),
      lane_(lane),
      parcel_(place.gpu, kWhat),
      routed_memory_({place.gpu, false, kWhat, kHint}),
      told_memory_({place.gpu, true, kWhat, kHint}) {
  for (Lane* sums : place.sums) partial.push_back({Buffer<float>({sums->gpu(), false, kWhat, kHint}), sums});
}

// Whoever still reads it, if a run was broken off.
CudaStep::~CudaStep() {
  for (const int gpu : place_.gpus) {
    cudaSetDevice(gpu);
    cudaDeviceSynchronize();
  }
}

void CudaStep::grow(const kernels::GateRule& gate, std::int32_t hidden, std::int64_t y_rows) {
  const std::int64_t rows = tokens();
  for (PartialOutput& part : partial) part.rows.grow(*part.sums, rows * hidden);
  use(place_.gpu);
  residual.grow(lane_, rows * hidden);
  shared.grow(lane_, rows * hidden);
  y.grow(lane_, rows * y_rows * hidden);
  routed_memory_.grow(lane_, routed_at(nullptr, rows, gate.experts, gate.top_k, hidden).bytes);
  routed_ = routed_at(routed_memory_.data(), rows, gate.experts, gate.top_k, hidden);
  told_memory_.grow(lane_, place_.peers ? routed_.told_bytes : routed_.bytes);
  told_ = routed_at(told_memory_.data(), rows, gate.experts, gate.top_k, hidden);
}

void CudaStep::publish() {
  check(cudaMemcpyAsync(told_.counts, routed_.counts,
                        static_cast<std::size_t>(place_.peers ? routed_.told_bytes : routed_.bytes),
                        cudaMemcpyDeviceToHost, lane_.stream()),
        "fetching what a gate decided");
}

void CudaStep::send_input(std::int64_t max_positions) {
  using kernels::QueryRun;
  using kernels::SampleRow;
  std::int64_t pages = 0;
  input = {};
  for (const Slice& slice : slices) {
    AFORE_CHECK(slice.tokens > 0 && slice.first + slice.tokens <= max_positions, "a position that the model has not");
    const auto positions = static_cast<std::int32_t>(slice.first + slice.tokens);
    input.most_positions = std::max(input.most_positions, positions);
    if (slice.tokens == 1) {
      ++input.single_count;
      input.most_single_positions = std::max(input.most_single_positions, positions);
    }
    input.run_count += static_cast<std::int32_t>(runs_of(slice));
    input.samples += slice.samples;
    pages += std::ssize(*slice.pages);
  }
  using Int = std::int32_t;
  parcel_.open(lane_, 3 * Parcel::bytes_of<Int>(tokens()) + Parcel::bytes_of<Int>(pages) +
                          Parcel::bytes_of<Int>(std::ssize(slices)) + Parcel::bytes_of<Int>(input.single_count) +
                          Parcel::bytes_of<QueryRun>(input.run_count) + Parcel::bytes_of<Int>(input.samples) +
                          Parcel::bytes_of<SampleRow>(input.samples));
  Int* const ids = parcel_.add<Int>(tokens(), input.ids);
  std::copy(token_ids.begin(), token_ids.end(), ids);
  Int* slice_of = parcel_.add<Int>(tokens(), input.places.slice);
  Int* position = parcel_.add<Int>(tokens(), input.places.position);
  Int* page = parcel_.add<Int>(pages, input.places.pages);
  Int* const pages_begin = parcel_.add<Int>(std::ssize(slices), input.places.pages_begin);
  Int* single = parcel_.add<Int>(input.single_count, input.singles);
  QueryRun* run = parcel_.add<QueryRun>(input.run_count, input.runs);
  Int* sample_row = parcel_.add<Int>(input.samples, input.sample_rows);
  SampleRow* options = parcel_.add<SampleRow>(input.samples, input.sample_options);
  const Int* const first_page = page;
  Int token = 0;
  for (std::size_t s = 0; s < slices.size(); ++s) {
    const Slice& slice = slices[s];
    const Int tokens = static_cast<Int>(slice.tokens);
    for (Int i = 0; i < tokens; ++i) {
      *slice_of++ = static_cast<Int>(s);
      *position++ = static_cast<Int>(slice.first) + i;
    }
    pages_begin[s] = static_cast<Int>(page - first_page);
    page = std::copy(slice.pages->begin(), slice.pages->end(), page);
    if (tokens == 1) *single++ = token;
    else
      for (Int i = 0; i < tokens; i += kernels::kQueryTile)
        *run++ = {token + i, std::min(tokens - i, kernels::kQueryTile)};
    token += tokens;
    if (!slice.samples) continue;
    *sample_row++ = token - 1;
    *options++ = {static_cast<float>(slice.sampling.temperature), static_cast<float>(slice.sampling.top_p),
                  uniform(slice)};
  }
  AFORE_CHECK(token == count(), "slices of another number of tokens than the step's");
  parcel_.send(lane_);
}

}  // namespace afore::device::cuda
