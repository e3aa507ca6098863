// What launching costs: on the host until a call returns, on the device between two launches.
#include "bench/gpu/context.h"
#include "bench/gpu/layer.h"
#include "bench/gpu/probe_kernels.h"

namespace afore::bench::gpu {
namespace {

// On the host, each call of `enqueue`; the device keeps up in the pauses.
Times time_calls(int n, int between_pauses, const std::function<void()>& enqueue) {
  for (int i = 0; i < 20; ++i) enqueue();
  finish("warming up");
  std::vector<double> ns;
  for (int i = 0; i < n; ++i) {
    if (i % between_pauses == 0) finish("pausing");
    const double begin = now_ns();
    enqueue();
    ns.push_back(now_ns() - begin);
  }
  finish("measuring");
  return summarize(std::move(ns));
}

void measure_launches(Report& report, int n) {
  report.figures.push_back(
      time_figure("overheads", "empty launch, on the host", time_calls(n, 100, [] { launch_nothing(stream()); }), ""));
  constexpr int kTogether = 100;
  Times times = time_on_gpu(2, n / 20 + 1, [](int) {
    for (int i = 0; i < kTogether; ++i) launch_nothing(stream());
  });
  times.median /= kTogether;
  times.p95 /= kTogether;
  report.figures.push_back(
      time_figure("overheads", "empty launches, one behind the other", times, "mean of 100, on the device"));
  report.figures.push_back(time_figure("overheads", "empty launch until the host knows",
                                       time_calls(n / 10 + 1, 1,
                                                  [] {
                                                    launch_nothing(stream());
                                                    finish("waiting");
                                                  }),
                                       "launch and synchronise"));
}

// There and back: an event recorded here, awaited by another stream, which records one that this stream awaits.
void measure_events(Report& report, int n) {
  cudaStream_t other = nullptr;
  cudaEvent_t there = nullptr, back = nullptr;
  check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), "creating a stream");
  check(cudaEventCreateWithFlags(&there, cudaEventDisableTiming), "creating an event");
  check(cudaEventCreateWithFlags(&back, cudaEventDisableTiming), "creating an event");
  const auto round = [&] {
    check(cudaEventRecord(there, stream()), "recording an event");
    check(cudaStreamWaitEvent(other, there, 0), "waiting for an event");
    check(cudaEventRecord(back, other), "recording an event");
    check(cudaStreamWaitEvent(stream(), back, 0), "waiting for an event");
  };
  report.figures.push_back(
      time_figure("overheads", "two events recorded and awaited, on the host", time_calls(n, 100, round), ""));
  report.figures.push_back(time_figure("overheads", "two events recorded and awaited",
                                       time_on_gpu(5, n, [&](int) { round(); }),
                                       "to another stream and back, on the device"));
  check(cudaStreamSynchronize(other), "waiting for the other stream");
  static_cast<void>(cudaEventDestroy(there));
  static_cast<void>(cudaEventDestroy(back));
  static_cast<void>(cudaStreamDestroy(other));
}

void measure_layer(Report& report, const Sizes& sizes, int n) {
  for (const std::int32_t tokens : {sizes.tiny ? 2 : 1, sizes.tiny ? 3 : 64}) {
    Layer layer(sizes, tokens, sizes.tiny ? 20 : 1024);
    const std::string name = fmt::format("a MoE layer, {} tokens", tokens);
    const std::string note = fmt::format("{} launches", layer.launches());
    report.figures.push_back(
        time_figure("overheads", name + ", on the host", time_calls(n, 1, [&] { layer.enqueue(); }), note));
    report.figures.push_back(time_figure("overheads", name, time_on_gpu(3, n, [&](int) { layer.enqueue(); }),
                                         note + ", one attention and one FFN worker, contexts of 1024"));
  }
}

}  // namespace

void measure_overheads(Context& context) {
  const bool tiny = context.sizes.tiny;
  measure_launches(context.report, tiny ? 20 : 2000);
  measure_events(context.report, tiny ? 5 : 500);
  measure_layer(context.report, context.sizes, tiny ? 1 : 100);
}

}  // namespace afore::bench::gpu
