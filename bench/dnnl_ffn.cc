#include "bench/dnnl_ffn.h"

#include <bit>
#include <cmath>
#include <map>
#include <oneapi/dnnl/dnnl.hpp>
#include <vector>

#include "bench/pages.h"

namespace afore::bench {
namespace {

using Memory = dnnl::memory;

std::uint16_t to_bf16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  return static_cast<std::uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

float made_up(std::size_t i) { return static_cast<float>(i * 2654435761u % 1024) / 1024 - 0.5f; }

}  // namespace

struct DnnlFfn::Impl {
  struct Matmul {
    dnnl::matmul primitive;
    Memory::desc weights;
  };
  struct Plan {
    Matmul up, down;
    Memory x, gate, raised, inner, y;
  };
  struct Expert {
    Memory gate, up, down;
  };

  std::int64_t hidden, intermediate;
  int count;
  Memory::data_type type;
  bool small_pages;
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::unique_ptr<Pages> memory = nullptr;
  std::vector<Expert> experts = {};
  std::map<std::int64_t, Plan> plans = {};

  Matmul matmul(std::int64_t rows, std::int64_t k, std::int64_t n) {
    const Memory::desc x({rows, k}, type, Memory::format_tag::ab), w({k, n}, type, Memory::format_tag::any),
        y({rows, n}, Memory::data_type::f32, Memory::format_tag::ab);
    const dnnl::matmul::primitive_desc description(dnnl::matmul::desc(x, w, y), engine);
    return {dnnl::matmul(description), description.weights_desc()};
  }

  // At `place` where that is given.
  Memory filled(const Memory::desc& form, std::int64_t k, std::int64_t n, std::byte* place = nullptr) {
    Memory plain({{k, n}, Memory::data_type::f32, Memory::format_tag::ba}, engine);
    auto* values = static_cast<float*>(plain.get_data_handle());
    for (std::int64_t i = 0; i < k * n; ++i) values[i] = made_up(static_cast<std::size_t>(i));
    Memory packed = place == nullptr ? Memory(form, engine) : Memory(form, engine, place);
    dnnl::reorder(plain, packed).execute(stream, plain, packed);
    return packed;
  }

  Plan make_plan(std::int64_t rows) {
    Plan plan;
    plan.up = matmul(rows, hidden, intermediate);
    plan.down = matmul(rows, intermediate, hidden);
    const Memory::desc narrow({rows, intermediate}, Memory::data_type::f32, Memory::format_tag::ab);
    plan.x = filled({{rows, hidden}, type, Memory::format_tag::ab}, rows, hidden);
    plan.inner = Memory({{rows, intermediate}, type, Memory::format_tag::ab}, engine);
    plan.gate = Memory(narrow, engine);
    plan.raised = Memory(narrow, engine);
    plan.y = Memory({{rows, hidden}, Memory::data_type::f32, Memory::format_tag::ab}, engine);
    return plan;
  }

  // Weights in the layout that the plan wants, expert after expert; made again where it is another one.
  void fit_weights(const Plan& plan) {
    if (!experts.empty() && experts[0].gate.get_desc() == plan.up.weights &&
        experts[0].down.get_desc() == plan.down.weights)
      return;
    experts.clear();
    const auto whole = [](std::size_t bytes) { return (bytes + 63) / 64 * 64; };
    const std::size_t up = whole(plan.up.weights.get_size()), down = whole(plan.down.weights.get_size());
    memory = std::make_unique<Pages>((2 * up + down) * count, small_pages);
    std::byte* place = memory->data();
    for (int e = 0; e < count; ++e, place += 2 * up + down)
      experts.push_back({filled(plan.up.weights, hidden, intermediate, place),
                         filled(plan.up.weights, hidden, intermediate, place + up),
                         filled(plan.down.weights, intermediate, hidden, place + 2 * up)});
  }

  void multiply(const Matmul& matmul, const Memory& x, const Memory& w, const Memory& y) {
    matmul.primitive.execute(stream, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, y}});
  }

  void silu_up(const Plan& plan, std::int64_t values) {
    const auto* gate = static_cast<const float*>(plan.gate.get_data_handle());
    const auto* up = static_cast<const float*>(plan.raised.get_data_handle());
    void* inner = plan.inner.get_data_handle();
    for (std::int64_t i = 0; i < values; ++i) {
      const float h = gate[i] / (1 + std::exp(-gate[i])) * up[i];
      if (type == Memory::data_type::bf16) static_cast<std::uint16_t*>(inner)[i] = to_bf16(h);
      else static_cast<float*>(inner)[i] = h;
    }
  }
};

DnnlFfn::DnnlFfn(std::int64_t hidden, std::int64_t intermediate, int experts, bool bf16, bool small_pages)
    : impl_(new Impl{hidden, intermediate, experts, bf16 ? Memory::data_type::bf16 : Memory::data_type::f32,
                     small_pages}) {}
DnnlFfn::~DnnlFfn() = default;

void DnnlFfn::run(std::int64_t rows) {
  auto at = impl_->plans.find(rows);
  if (at == impl_->plans.end()) at = impl_->plans.emplace(rows, impl_->make_plan(rows)).first;
  const Impl::Plan& plan = at->second;
  impl_->fit_weights(plan);
  for (const Impl::Expert& expert : impl_->experts) {
    impl_->multiply(plan.up, plan.x, expert.gate, plan.gate);
    impl_->multiply(plan.up, plan.x, expert.up, plan.raised);
    impl_->silu_up(plan, rows * impl_->intermediate);
    impl_->multiply(plan.down, plan.inner, expert.down, plan.y);
  }
  impl_->stream.wait();
}

}  // namespace afore::bench
