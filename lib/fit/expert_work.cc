#include "fit/expert_work.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "fit/power_law.h"
#include "util/rng.h"

namespace afore::fit {
namespace {

constexpr int kPowerLawDraws = 64;
constexpr int kStatedDraws = 16;  // of up to 128 normal loads each: the sum hardly varies

std::int64_t tiles_of(std::int64_t load, std::int64_t tile) { return (load + tile - 1) / tile; }

// Every local expert has the same whole number of assignments; where that would be 0, as many experts as the worker's
// share of the assignments have one each.
ExpertWork uniform_generation(const ExpertLoad& load, std::int64_t tile) {
  const std::int64_t each = load.tokens * load.top_k / load.experts;
  const std::int64_t workers = load.experts / load.local_experts;
  ExpertWork work;
  if (each == 0) {
    work.tiles = work.activated = static_cast<double>(std::max<std::int64_t>(1, load.tokens * load.top_k / workers));
  } else {
    work.activated = static_cast<double>(load.local_experts);
    work.tiles = static_cast<double>(load.local_experts * tiles_of(each, tile));
  }
  return work;
}

// As above, but the collector does not pad these rows: experts share tiles, and a tile computes with the weights of
// its first row's expert alone.
ExpertWork uniform_context(const ExpertLoad& load, std::int64_t tile) {
  const std::int64_t each = std::max<std::int64_t>(1, load.tokens * load.top_k / load.experts);
  ExpertWork work;
  work.tiles = static_cast<double>(tiles_of(each * load.local_experts, tile));
  work.activated = std::min(work.tiles, static_cast<double>(load.local_experts));
  return work;
}

class Moments {
 public:
  void add(double tiles, double activated) {
    ++n_;
    tiles_ += tiles, activated_ += activated;
    tiles2_ += tiles * tiles, activated2_ += activated * activated, both_ += tiles * activated;
  }
  ExpertWork work() const {
    ExpertWork work;
    work.tiles = tiles_ / n_, work.activated = activated_ / n_;
    work.tiles_variance = std::max(0.0, tiles2_ / n_ - work.tiles * work.tiles);
    work.activated_variance = std::max(0.0, activated2_ / n_ - work.activated * work.activated);
    work.covariance = both_ / n_ - work.tiles * work.activated;
    return work;
  }

 private:
  double n_ = 0, tiles_ = 0, activated_ = 0, tiles2_ = 0, activated2_ = 0, both_ = 0;
};

ExpertWork power_law(const ExpertLoad& load, std::int64_t tile, Rng& rng) {
  Moments moments;
  for (int draw = 0; draw < kPowerLawDraws; ++draw) {
    std::int64_t tiles = 0, activated = 0;
    for (const std::int64_t n : draw_power_law(load, rng)) tiles += tiles_of(n, tile), activated += n > 0 ? 1 : 0;
    moments.add(static_cast<double>(tiles), static_cast<double>(activated));
  }
  return moments.work();
}

// Loads of the activated experts: normal, with the mean and deviation that the statistics over all local experts leave
// for them, held between the stated least and largest load.
ExpertWork stated(const ExpertLoad& load, std::int64_t tile, Rng& rng) {
  const double local = static_cast<double>(load.local_experts), activated = static_cast<double>(load.activated);
  const double mean = static_cast<double>(load.routed) / local;
  const double mean_activated = static_cast<double>(load.routed) / activated;
  const double squares = mean * mean * (1 + load.deviation * load.deviation) * local;
  const double deviation = std::sqrt(std::max(0.0, squares / activated - mean_activated * mean_activated));
  const double least = std::max(1.0, load.least * mean), most = std::max(least, load.most * mean);
  double tiles = 0;
  for (int draw = 0; draw < kStatedDraws; ++draw) {
    for (std::int64_t e = 0; e < load.activated; ++e) {
      const double n = std::clamp(mean_activated + deviation * rng.normal(), least, most);
      tiles += static_cast<double>(tiles_of(std::llround(n), tile));
    }
  }
  ExpertWork work;
  work.tiles = tiles / kStatedDraws;
  work.activated = activated;
  return work;
}

}  // namespace

std::span<const std::int64_t> tile_heights(TableForm form) {
  // DeepGEMM's block heights (its get_best_configs): three in the masked layout; in the contiguous one 128, to which
  // the collector pads. The Triton kernel of vLLM takes its block height from a table by number of tokens.
  static constexpr std::array<std::int64_t, 3> kMasked = {64, 128, 256};
  static constexpr std::array<std::int64_t, 1> kContiguous = {128};
  static constexpr std::array<std::int64_t, 4> kTriton = {16, 32, 64, 128};
  switch (form) {
    case TableForm::generation: return kMasked;
    case TableForm::context: return kContiguous;
    case TableForm::fused: return kTriton;
    case TableForm::nccl:
    case TableForm::deepep: break;
  }
  return {};
}

ExpertWork expert_work(TableForm form, const MeasuredRow& row, std::int64_t tile_tokens, std::uint64_t seed) {
  Rng rng(seed, row.key);
  switch (row.load.kind) {
    case ExpertLoad::Kind::power_law: return power_law(row.load, tile_tokens, rng);
    case ExpertLoad::Kind::stated: return stated(row.load, tile_tokens, rng);
    case ExpertLoad::Kind::uniform: break;
  }
  return form == TableForm::context ? uniform_context(row.load, tile_tokens)
                                    : uniform_generation(row.load, tile_tokens);
}

}  // namespace afore::fit
