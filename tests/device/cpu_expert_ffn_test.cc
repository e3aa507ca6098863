#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "cpu_support.h"
#include "device/cpu/thread_pool.h"
#include "device/cpu/work_cuts.h"

namespace afore::device::cpu {
namespace {

TEST(WorkCuts, EveryUnitFallsToOnePart) {
  Rng rng(1);
  for (int round = 0; round < 200; ++round) {
    const int count = static_cast<int>(1 + rng.below(6));
    std::vector<WorkItem> items(static_cast<std::size_t>(count) + 1);
    WorkCuts cuts(items.data());
    std::int64_t units = 0;
    for (int i = 0; i < count; ++i) {
      const auto of_item = static_cast<std::int64_t>(rng.below(30));
      cuts.add(of_item, static_cast<std::int64_t>(1 + rng.below(40)));
      units += of_item;
    }
    const auto parts = static_cast<std::int64_t>(1 + rng.below(20));
    std::map<std::pair<std::int64_t, std::int64_t>, int> seen;
    std::vector<std::int64_t> cost(static_cast<std::size_t>(parts));
    for (std::int64_t part = 0; part < parts; ++part)
      cuts.for_part(part, parts, [&](std::int64_t item, std::int64_t first, std::int64_t last) {
        cost[part] += (last - first) * items[item].unit_cost;
        for (std::int64_t unit = first; unit < last; ++unit) ++seen[{item, unit}];
      });
    EXPECT_EQ(std::ssize(seen), units);
    for (const auto& [unit, times] : seen) EXPECT_EQ(times, 1) << unit.first << " " << unit.second;
    // No part is further from its share than a unit at either end.
    for (const std::int64_t c : cost) EXPECT_LE(c, cuts.cost() / parts + 1 + 40);
  }
}

struct Expert {
  Expert(Rng& rng, ExpertShape of)
      : shape(of),
        gate(rng, of.intermediate, of.hidden),
        up(rng, of.intermediate, of.hidden),
        down(rng, of.hidden, of.intermediate),
        block(of.bytes()) {
    pack(gate.stored, gate.n, gate.k, block.data);
    pack(up.stored, up.n, up.k, block.data + shape.up_bytes());
    pack(down.stored, down.n, down.k, block.data + 2 * shape.up_bytes());
  }

  ExpertShape shape;
  Matrix gate, up, down;
  Lines block;
};

// Some experts and their rows, at places of their own.
struct Batch {
  std::vector<ExpertRows> experts;
  std::vector<std::vector<const float*>> x;
  std::vector<std::vector<float*>> y;

  void add(const Expert& expert, std::vector<const float*> inputs, std::vector<float*> outputs) {
    x.push_back(std::move(inputs));
    y.push_back(std::move(outputs));
    experts.push_back({expert.block.data, x.back(), y.back()});
  }
};

class CpuExpertFfn : public testing::TestWithParam<Isa> {
 protected:
  const Kernels& kernels = Kernels::of(GetParam());
  Scratch scratch;

  std::vector<float> alone(const Expert& expert, const float* x) {
    std::vector<float> y(static_cast<std::size_t>(expert.shape.hidden));
    Batch batch;
    batch.add(expert, {x}, {y.data()});
    kernels.expert_ffn(expert.shape, batch.experts, scratch, nullptr);
    return y;
  }
};

INSTANTIATE_TEST_SUITE_P(Isas, CpuExpertFfn, testing::ValuesIn(isas()), name_of);

const ExpertShape kShapes[] = {{1, 1}, {16, 16}, {33, 7}, {64, 50}, {100, 130}};

// The errors of gate and up are carried through silu (whose slope is below 1.1) into down's activations.
void expect_near_exact(const Expert& e, const float* x, const std::vector<float>& y) {
  const auto [hidden, inner] = e.shape;
  std::vector<double> h(static_cast<std::size_t>(inner)), h_error(h.size());
  for (std::int64_t i = 0; i < inner; ++i) {
    Bounded gate, up;
    for (std::int64_t c = 0; c < hidden; ++c) {
      gate.add(x[c], e.gate.at(i, c));
      up.add(x[c], e.up.at(i, c));
    }
    const double silu = gate.value / (1 + std::exp(-gate.value));
    h[i] = silu * up.value;
    h_error[i] = 1.1 * gate.tolerance(hidden) * (std::abs(up.value) + up.tolerance(hidden)) +
                 std::abs(silu) * up.tolerance(hidden) + std::abs(h[i]) * std::ldexp(8, -24);
  }
  for (std::int64_t n = 0; n < hidden; ++n) {
    Bounded down;
    for (std::int64_t i = 0; i < inner; ++i) down.add(h[i], e.down.at(n, i), h_error[i]);
    ASSERT_NEAR(y[n], down.value, down.tolerance(inner)) << hidden << " x " << inner << ", " << n;
  }
}

TEST_P(CpuExpertFfn, IsNearTheExactValue) {
  Rng rng(2);
  for (const ExpertShape& shape : kShapes) {
    const Expert expert(rng, shape);
    for (const double deviation : {0.1, 1.0, 30.0}) {
      const std::vector<float> x = noise(rng, shape.hidden, deviation);
      expect_near_exact(expert, x.data(), alone(expert, x.data()));
    }
  }
}

TEST_P(CpuExpertFfn, ARowDoesNotDependOnItsBatch) {
  Rng rng(3);
  for (const ExpertShape& shape : kShapes) {
    const Expert first(rng, shape), second(rng, shape);
    const std::vector<float> x = noise(rng, 80 * shape.hidden);
    std::vector<std::vector<float>> by_first, by_second;
    for (int r = 0; r < 80; ++r) {
      by_first.push_back(alone(first, &x[r * shape.hidden]));
      by_second.push_back(alone(second, &x[r * shape.hidden]));
    }
    for (int rows = 1; rows <= 40; ++rows) {
      // `rows` inputs to the first, as many as 40 leave to the second, in reverse and with one input twice.
      std::vector<std::vector<float>> y(41, std::vector<float>(static_cast<std::size_t>(shape.hidden), -1.0f));
      std::vector<int> at(41);
      for (int r = 0; r < 41; ++r) at[r] = r == 40 ? 79 - rows : 79 - r;
      Batch batch;
      std::vector<const float*> inputs;
      std::vector<float*> outputs;
      for (int r = 0; r < 41; ++r) {
        inputs.push_back(&x[at[r] * shape.hidden]);
        outputs.push_back(y[r].data());
      }
      batch.add(first, {inputs.begin(), inputs.begin() + rows}, {outputs.begin(), outputs.begin() + rows});
      batch.add(second, {}, {});
      batch.add(second, {inputs.begin() + rows, inputs.end()}, {outputs.begin() + rows, outputs.end()});
      kernels.expert_ffn(shape, batch.experts, scratch, nullptr);
      for (int r = 0; r < 41; ++r)
        ASSERT_TRUE(same_bits(y[r].data(), (r < rows ? by_first : by_second)[at[r]].data(), shape.hidden))
            << shape.hidden << " x " << shape.intermediate << ", " << rows << " rows, row " << r;
    }
  }
}

TEST_P(CpuExpertFfn, ThreadsDoNotChangeIt) {
  Rng rng(4);
  const ExpertShape shape{600, 400};  // large enough for one row to be shared
  std::vector<Expert> experts;
  for (int e = 0; e < 3; ++e) experts.emplace_back(rng, shape);
  const std::vector<float> x = noise(rng, 90 * shape.hidden);
  // A large expert among small ones; one alone; even ones.
  for (const std::vector<int>& rows : {std::vector<int>{70, 0, 3}, {1, 0, 0}, {20, 20, 20}}) {
    std::vector<std::vector<float>> results;
    for (int threads = 0; threads <= 4; ++threads) {
      std::vector<float> y(x.size(), -1.0f);
      Batch batch;
      std::int64_t next = 0;
      for (int e = 0; e < 3; ++e) {
        std::vector<const float*> inputs;
        std::vector<float*> outputs;
        for (int r = 0; r < rows[e]; ++r, ++next) {
          inputs.push_back(&x[next * shape.hidden]);
          outputs.push_back(&y[next * shape.hidden]);
        }
        batch.add(experts[e], inputs, outputs);
      }
      std::unique_ptr<ThreadPool> pool;
      if (threads > 0) pool = std::make_unique<ThreadPool>(threads);
      kernels.expert_ffn(shape, batch.experts, scratch, pool.get());
      results.push_back(std::move(y));
    }
    for (int threads = 1; threads <= 4; ++threads) EXPECT_EQ(results[threads], results[0]) << threads << " threads";
  }
}

TEST_P(CpuExpertFfn, NothingToDo) {
  kernels.expert_ffn({16, 16}, {}, scratch, nullptr);
  Rng rng(5);
  const Expert expert(rng, {16, 16});
  Batch batch;
  batch.add(expert, {}, {});
  kernels.expert_ffn({16, 16}, batch.experts, scratch, nullptr);
}

}  // namespace
}  // namespace afore::device::cpu
