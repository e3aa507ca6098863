// What the device can do at best, by the plainest programs there are: what ours is compared with.
#include <memory>

#include "bench/gpu/blas.h"
#include "bench/gpu/context.h"
#include "bench/gpu/experts.h"
#include "bench/gpu/probe_kernels.h"
#include "tests/kernels/bounds.h"

namespace afore::bench::gpu {
namespace {

constexpr int kWarmup = 3;

struct Host {  // pinned
  explicit Host(std::size_t bytes) { check(cudaMallocHost(&data, bytes), "allocating pinned memory"); }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;
  ~Host() { static_cast<void>(cudaFreeHost(data)); }
  void* data = nullptr;
};

void add_rate(Report& report, const std::string& name, double bytes, const Times& times, const std::string& note) {
  report.figures.push_back({.section = "ceilings",
                            .name = name,
                            .unit = "GB/s",
                            .value = bytes / times.median,
                            .p95 = bytes / times.p95,
                            .n = times.n,
                            .note = note,
                            .goal = {},
                            .met = false});
}

void measure_copies(Report& report, const Sizes& sizes) {
  const std::size_t large = sizes.tiny ? 1 << 16 : std::size_t{1} << 30;
  const auto expert = static_cast<std::size_t>(slot_bytes(sizes.hidden, sizes.intermediate));
  const int n = sizes.tiny ? 3 : 20;
  const Buffer<std::byte> from(large), to(large);
  const auto time_copies = [&](std::size_t bytes) {
    return time_on_gpu(kWarmup, n, [&](int) {
      check(cudaMemcpyAsync(to.data(), from.data(), bytes, cudaMemcpyDeviceToDevice, stream()), "copying");
    });
  };
  add_rate(report, "copy on the device, large", 2 * static_cast<double>(large), time_copies(large),
           fmt::format("{} bytes, read + written", large));
  add_rate(report, "copy on the device, an expert", 2 * static_cast<double>(expert), time_copies(expert),
           fmt::format("{} bytes, read + written", expert));
  const std::size_t host_bytes = sizes.tiny ? large : large / 4;
  const Host host(host_bytes);
  std::memset(host.data, 0, host_bytes);  // present before it is timed
  add_rate(report, "host to device, pinned", static_cast<double>(host_bytes),
           time_on_gpu(kWarmup, n,
                       [&](int) {
                         check(cudaMemcpyAsync(to.data(), host.data, host_bytes, cudaMemcpyHostToDevice, stream()),
                               "copying");
                       }),
           fmt::format("{} bytes", host_bytes));
  add_rate(report, "device to host, pinned", static_cast<double>(host_bytes),
           time_on_gpu(kWarmup, n,
                       [&](int) {
                         check(cudaMemcpyAsync(host.data, from.data(), host_bytes, cudaMemcpyDeviceToHost, stream()),
                               "copying");
                       }),
           fmt::format("{} bytes", host_bytes));
}

// Of memory that is many times the L2 cache.
void measure_reads(Context& context) {
  const Sizes& sizes = context.sizes;
  const std::size_t bytes = sizes.tiny ? 1 << 14 : std::size_t{4} << 30;
  const int multiprocessors = sizes.tiny ? 1 : device_facts().multiprocessors;
  const Buffer<std::byte> from(bytes);
  const Buffer<std::uint32_t> sink(1);
  const Times times = time_on_gpu(kWarmup, sizes.tiny ? 3 : 20,
                                  [&](int) { read_all(from.data(), bytes, multiprocessors, sink.data(), stream()); });
  context.read_bytes_per_s = static_cast<double>(bytes) / times.median * 1e9;
  add_rate(context.report, "read", static_cast<double>(bytes), times,
           fmt::format("{} bytes by a plain kernel: what floors are computed with", bytes));
}

// That the baseline computes what our kernel does.
void check_blas(Report& report) {
  constexpr std::int32_t kRows = 16, kN = 256, kK = 512;
  kernels::Numbers numbers(41);
  const std::vector<std::uint16_t> x = numbers.bf16s(area(kRows, kK)), w = numbers.bf16s(area(kN, kK));
  const Buffer<std::uint16_t> d_x(x), d_w(w);
  const Buffer<float> ours(area(kRows, kN)), theirs(area(kRows, kN));
  kernels::linear(d_x.data(), d_w.data(), kRows, kN, kK, ours.data(), stream());
  blas_product(d_x.data(), d_w.data(), kRows, kN, kK, theirs.data());
  report.check("ceilings", "cuBLAS computes the same product",
               first_beyond(ours.values(), theirs.values(), [&](std::size_t i) {
                 return 2 * kernels::product_bound(x.data() + i / kN * kK, w.data() + i % kN * kK, kK);
               }));
}

void measure_gemm(Report& report) {
  for (const int size : {4096, 8192}) {
    const std::size_t elements = area(size, size);
    const Buffer<std::uint16_t> x(elements), w(elements), y(elements);
    fill_bf16(x.data(), elements, 1, stream());
    fill_bf16(w.data(), elements, 1, stream());
    const Times times =
        time_on_gpu(kWarmup, 20, [&](int) { blas_product(x.data(), w.data(), size, size, size, y.data()); });
    const double flops = 2.0 * size * size * size;
    report.figures.push_back({.section = "ceilings",
                              .name = fmt::format("cuBLAS bf16 GEMM, {0} x {0} x {0}", size),
                              .unit = "TFLOP/s",
                              .value = flops / times.median / 1e3,
                              .p95 = flops / times.p95 / 1e3,
                              .n = times.n,
                              .note = {},
                              .goal = {},
                              .met = false});
  }
}

}  // namespace

void measure_ceilings(Context& context) {
  measure_copies(context.report, context.sizes);
  measure_reads(context);
  if (const std::string why = why_no_blas(); !why.empty()) {
    context.report.skipped.push_back({"cuBLAS", why});
    return;
  }
  check(kernels::prepare_expert_ffn(), "preparing the expert FFN");
  check_blas(context.report);
  measure_gemm(context.report);
}

}  // namespace afore::bench::gpu
