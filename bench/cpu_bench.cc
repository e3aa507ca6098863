// The CPU device. `cpu_bench > table.tsv` prints two tables.
//
// The first: the grouped expert FFN of every instruction set, M rows to each expert, beside oneDNN (where it was found
// at build time) and beside the rate at which one thread reads memory. The experts of a call together are larger than
// the last-level cache, as a layer's are; those of 256x64 fit into it (last column). GFLOP/s count 6 M hidden
// intermediate an expert, GB/s its weights once. All contenders of a line take turns; median and best are over the
// rounds. What runs on one thread is measured in that thread's time on a core, as other programs take cores, too.
// The second: what else a step of decoding costs.
//
//   cpu_bench [--small-pages] [--seconds S] [--shape 256x64] [--rows M]    S seconds at least for each, 0.3
//   cpu_bench --read MB    only the rates at which one thread and one on each core read so much, and 537 MB
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "bench/pages.h"
#include "device/cpu/attention.h"
#include "device/cpu/gate.h"
#include "device/cpu/sample.h"
#include "device/cpu/thread_pool.h"
#include "util/rng.h"
#ifdef AFORE_HAVE_DNNL
#include "bench/dnnl_ffn.h"
#endif

namespace afore::bench {
namespace {

using namespace device::cpu;

struct Options {
  bool small_pages = false;
  double seconds = 0.3;
  std::string shape, read;
  int rows = 0;  // all
};

double now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// Of the calling thread's time on a core, unless `wall`.
double seconds_of(const std::function<void()>& work, bool wall = false) {
  const clockid_t clock = wall ? CLOCK_MONOTONIC : CLOCK_THREAD_CPUTIME_ID;
  const double start = now(clock);
  work();
  return now(clock) - start;
}

// Reads all of it in registers as wide as there are, from eight places at once: one place alone waits for memory.
__attribute__((target_clones("avx512f", "avx2", "default"))) std::uint64_t read_all(const std::uint64_t* words,
                                                                                    std::size_t count) {
  constexpr std::size_t kPlaces = 8, kLineWords = 8;
  const std::size_t part = count / kPlaces / kLineWords * kLineWords;
  std::uint64_t sums[kPlaces][kLineWords] = {};
  for (std::size_t i = 0; i < part; i += kLineWords)
    for (std::size_t p = 0; p < kPlaces; ++p)
      for (std::size_t j = 0; j < kLineWords; ++j) sums[p][j] |= words[p * part + i + j];
  std::uint64_t all = 0;
  for (const auto& line : sums)
    for (const std::uint64_t sum : line) all |= sum;
  return all;
}

// GB/s of `threads` threads that each read their part of `bytes` in order, over and over: the sum of their rates, each
// in its thread's own time, by pass.
std::vector<double> read_rates(std::size_t bytes, int threads, const Options& options) {
  const Pages pages(bytes, options.small_pages);
  const auto* words = reinterpret_cast<const std::uint64_t*>(pages.data());
  const std::size_t part = bytes / sizeof(std::uint64_t) / threads;
  constexpr int kPasses = 21;
  std::vector<double> rates(kPasses);
  const int repeats = static_cast<int>(std::max<std::size_t>(1, (std::size_t{128} << 20) / bytes));
  ThreadPool pool(threads);
  std::barrier all_here(threads);  // no thread does two parts
  std::vector<double> seconds(static_cast<std::size_t>(threads));
  for (double& rate : rates) {
    pool.run(threads, [&](std::int64_t p, int) {
      all_here.arrive_and_wait();
      std::uint64_t all = 0;
      seconds[p] = seconds_of([&] {
        for (int i = 0; i < repeats; ++i) all |= read_all(words + p * part, part);
      });
      if (all != 0) std::abort();
    });
    for (const double s : seconds) rate += static_cast<double>(part * sizeof(std::uint64_t) * repeats) / s * 1e-9;
  }
  std::sort(rates.begin(), rates.end());
  return rates;
}

double stream_rate(const Options& options) { return read_rates(std::size_t{512} << 20, 1, options).back(); }

void print_read_rates(const std::string& megabytes, const Options& options) {
  fmt::print("threads\tMB\tGBs_median\tGBs_best\n");
  const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  for (const int threads : {1, cores}) {
    for (const std::string& size : {megabytes, std::string("537")}) {
      const std::vector<double> rates =
          read_rates(static_cast<std::size_t>(std::atof(size.c_str()) * 1e6), threads, options);
      fmt::print("{}\t{}\t{:.1f}\t{:.1f}\n", threads, size, rates[rates.size() / 2], rates.back());
    }
    if (cores == 1) break;
  }
}

// Experts of random weights, and a call on all of them.
class Layer {
 public:
  Layer(ExpertShape shape, int experts, const Options& options)
      : shape_(shape), blocks_(shape.bytes() * experts, options.small_pages), rows_of_(experts) {
    Rng rng(1);
    for (std::size_t i = 0; i < shape.bytes() * experts; i += sizeof(std::uint64_t)) {
      // Four bf16 of magnitude 2^-7 … 2^-4, either sign.
      const std::uint64_t bits = (rng.next() & 0x81ff81ff81ff81ffull) | 0x3c003c003c003c00ull;
      std::memcpy(blocks_.data() + i, &bits, sizeof(bits));
    }
  }

  void set_rows(int rows) {
    const int experts = static_cast<int>(rows_of_.size());
    x_.assign(static_cast<std::size_t>(rows) * shape_.hidden, 0.0f);
    y_.assign(static_cast<std::size_t>(experts) * rows * shape_.hidden, 0.0f);
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = static_cast<float>(i * 2654435761u % 1024) / 512 - 1;
    inputs_.clear();
    outputs_.clear();
    for (int r = 0; r < rows; ++r) inputs_.push_back(x_.data() + r * shape_.hidden);
    for (int r = 0; r < experts * rows; ++r) outputs_.push_back(y_.data() + r * shape_.hidden);
    for (int e = 0; e < experts; ++e)
      rows_of_[e] = {blocks_.data() + e * shape_.bytes(), inputs_, std::span(outputs_).subspan(e * rows, rows)};
  }

  void run(const Kernels& kernels, ThreadPool* pool) { kernels.expert_ffn(shape_, rows_of_, scratch_, pool); }

 private:
  ExpertShape shape_;
  Pages blocks_;
  std::vector<float> x_, y_;
  std::vector<const float*> inputs_;
  std::vector<float*> outputs_;
  std::vector<ExpertRows> rows_of_;
  Scratch scratch_;
};

struct Contender {
  std::string name;
  double bytes_per_weight;
  std::function<void()> run;
  bool wall = false;
  std::vector<double> seconds = {};
};

// Takes turns until every contender has had its time.
void measure(std::vector<Contender>& contenders, double least) {
  for (Contender& c : contenders) {
    c.seconds.clear();
    c.run();
  }
  double shortest = 0;
  for (int round = 0; round < 3 || (shortest < least && round < 2000); ++round) {
    shortest = 1e9;
    for (Contender& c : contenders) {
      c.seconds.push_back(seconds_of(c.run, c.wall));
      double sum = 0;
      for (const double s : c.seconds) sum += s;
      shortest = std::min(shortest, sum);
    }
  }
  for (Contender& c : contenders) std::sort(c.seconds.begin(), c.seconds.end());
}

void print_shape(const char* model, ExpertShape shape, int experts, double stream, const Options& options) {
  const std::string name = fmt::format("{}x{}", shape.hidden, shape.intermediate);
  if (!options.shape.empty() && options.shape != name) return;
  Layer layer(shape, experts, options);
  ThreadPool pool(static_cast<int>(std::max(2u, std::thread::hardware_concurrency())));
#ifdef AFORE_HAVE_DNNL
  DnnlFfn dnnl_bf16(shape.hidden, shape.intermediate, experts, true, options.small_pages);
  DnnlFfn dnnl_f32(shape.hidden, shape.intermediate, experts, false, options.small_pages);
#endif
  for (const int rows : {1, 2, 4, 8, 16, 32, 64}) {
    if (options.rows != 0 && options.rows != rows) continue;
    layer.set_rows(rows);
    std::vector<Contender> contenders;
    for (const Isa isa : {Isa::avx512bf16, Isa::avx2, Isa::scalar})
      if (is_supported(isa))
        contenders.push_back({to_string(isa), 2, [&layer, isa] { layer.run(Kernels::of(isa), nullptr); }});
    contenders.push_back({fmt::format("{} x {} threads", to_string(best_isa()), pool.threads()), 2,
                          [&] { layer.run(Kernels::of(best_isa()), &pool); }, true});
#ifdef AFORE_HAVE_DNNL
    contenders.push_back({"oneDNN bf16", 2, [&] { dnnl_bf16.run(rows); }});
    contenders.push_back({"oneDNN f32", 4, [&] { dnnl_f32.run(rows); }});
#endif
    measure(contenders, options.seconds);
    const double weights = 3.0 * static_cast<double>(shape.hidden * shape.intermediate) * experts;
    for (const Contender& c : contenders) {
      const double median = c.seconds[c.seconds.size() / 2], best = c.seconds.front();
      const double read = weights * c.bytes_per_weight * 1e-9;
      fmt::print("{}\t{}\t{}\t{}\t{:.1f}\t{:.1f}\t{:.1f}\t{:.1f}\t{:.2f}\t{}\n", model, name, rows, c.name,
                 2 * rows * weights / median * 1e-9, 2 * rows * weights / best * 1e-9, read / median, read / best,
                 read / best / stream, weights * 2 < 30e6 ? "cache" : "memory");
      std::fflush(stdout);
    }
  }
}

// ---- the rest of a step

void print_other(const char* what, const Options& options, const std::function<void()>& run) {
  std::vector<Contender> one = {{what, 0, run}};
  measure(one, options.seconds);
  fmt::print("{}\t{:.1f}\t{:.1f}\n", what, one[0].seconds[one[0].seconds.size() / 2] * 1e6,
             one[0].seconds.front() * 1e6);
}

std::vector<float> noise(std::size_t count, double deviation = 1) {
  Rng rng(2);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(deviation * rng.normal());
  return values;
}

void print_attention(Isa isa, AttentionShape shape, int sequences, int positions, const Options& options) {
  const int pages_each = (positions + device::kPageTokens - 1) / device::kPageTokens;
  const std::vector<float> values = noise(static_cast<std::size_t>(sequences * pages_each * shape.page_floats()));
  const Pages memory(values.size() * sizeof(float), options.small_pages);
  std::memcpy(memory.data(), values.data(), values.size() * sizeof(float));
  const auto* cache = reinterpret_cast<const float*>(memory.data());
  const std::vector<float> query = noise(static_cast<std::size_t>(shape.heads * shape.head_dim));
  std::vector<float> out(query.size());
  std::vector<std::int32_t> pages(static_cast<std::size_t>(sequences * pages_each));
  for (std::size_t p = 0; p < pages.size(); ++p) pages[p] = static_cast<std::int32_t>(p * 7919 % pages.size());
  Scratch scratch;
  const auto name = fmt::format("attend {} sequences x {} positions x {}/{} heads x {}, {}", sequences, positions,
                                shape.heads, shape.kv_heads, shape.head_dim, to_string(isa));
  print_other(name.c_str(), options, [&] {
    for (int s = 0; s < sequences; ++s)
      attend(Kernels::of(isa), shape, query.data(), cache, std::span(pages).subspan(s * pages_each, pages_each),
             positions - 1, out.data(), scratch);
  });
}

void print_others(const Options& options) {
  fmt::print("\nwhat\tmedian_us\tbest_us\n");
  for (const Isa isa : {Isa::avx512bf16, Isa::avx2, Isa::scalar}) {
    if (!is_supported(isa)) continue;
    print_attention(isa, {8, 2, 32}, 64, 300, options);
    print_attention(isa, {32, 4, 128}, 8, 1024, options);
    const std::vector<float> x = noise(64 * 256);
    std::vector<float> y(x.size());
    print_other(fmt::format("rms_norm 64 x 256, {}", to_string(isa)).c_str(), options, [&] {
      for (int r = 0; r < 64; ++r) Kernels::of(isa).rms_norm(&x[r * 256], x.data(), 1e-5f, &y[r * 256], 256);
    });
  }
  nn::GateConfig gate;
  gate.rule = nn::GateConfig::Rule::sigmoid_bias;
  gate.experts = 32;
  gate.top_k = 4;
  const std::vector<float> logits = noise(32);
  std::vector<std::int32_t> ids(4);
  std::vector<float> weights(4);
  print_other("gate_token 32 experts, top 4, x 64", options, [&] {
    for (int t = 0; t < 64; ++t) gate_token(gate, logits, logits, ids, weights);
  });
  for (const std::size_t vocab : {4096, 151936}) {
    const std::vector<float> scores = noise(vocab, 3);
    for (const double top_p : {1.0, 0.9})
      print_other(fmt::format("sample of {}, temperature 1, top_p {}", vocab, top_p).c_str(), options, [&] {
        sample(scores, {1, top_p, 1}, 1);
      });
  }
}

void run_all(const Options& options) {
  const double stream = stream_rate(options);
  fmt::print("# one thread reads memory at {:.1f} GB/s, {} pages\n", stream, options.small_pages ? "small" : "large");
  fmt::print("model\tshape\tM\twho\tGFLOPs\tGFLOPs_best\tGBs\tGBs_best\tof_stream\tweights_in\n");
  print_shape("afore-tiny", {256, 64}, 32, stream, options);
  print_shape("Qwen3-30B-A3B", {2048, 768}, 24, stream, options);
  print_shape("GLM-4.5-Air", {4096, 1408}, 8, stream, options);
  print_others(options);
}

}  // namespace
}  // namespace afore::bench

int main(int argc, char** argv) {
  // OpenMP reads this before main: oneDNN on one thread, as the others.
  const char* threads = std::getenv("OMP_NUM_THREADS");
  if (threads == nullptr || std::strcmp(threads, "1") != 0) {
    setenv("OMP_NUM_THREADS", "1", 1);
    execv("/proc/self/exe", argv);
  }
  afore::bench::Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (arg == "--small-pages") {
      options.small_pages = true;
    } else if (arg == "--seconds" && i + 1 < argc) {
      options.seconds = std::atof(argv[++i]);
    } else if (arg == "--shape" && i + 1 < argc) {
      options.shape = argv[++i];
    } else if (arg == "--rows" && i + 1 < argc) {
      options.rows = std::atoi(argv[++i]);
    } else if (arg == "--read" && i + 1 < argc) {
      options.read = argv[++i];
    } else {
      fmt::print(stderr, "cpu_bench [--read MB] [--small-pages] [--seconds S] [--shape 256x64] [--rows M]\n");
      return 2;
    }
  }
  if (options.read.empty()) afore::bench::run_all(options);
  else afore::bench::print_read_rates(options.read, options);
  return 0;
}
