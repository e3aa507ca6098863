#include "afore-serve/run_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "core/assignment.h"
#include "migrate/arena.h"
#include "util/error.h"

namespace afore::serve {
namespace {

constexpr std::int64_t kBf16Bytes = 2;

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / (1 << 30)); }

std::string hint(double weights, double cache, bool made_up) {
  if (cache > weights) return "a smaller --kv-budget-tokens";
  return made_up ? "fewer layers: --layers N; or fewer --slots" : "fewer --slots, or a smaller model";
}

}  // namespace

double RunMemory::weights() const {
  return static_cast<double>(weights_bytes) + static_cast<double>(everywhere_bytes) +
         static_cast<double>(arena_bytes) * static_cast<double>(arenas);
}

double RunMemory::cache(std::int64_t kv_budget_tokens) const {
  return static_cast<double>(kv_budget_tokens) * static_cast<double>(token_bytes) * static_cast<double>(caches);
}

RunMemory run_memory(const nn::ModelConfig& config, const cli::Setup& setup, bool threads) {
  const ModelSpec model = nn::model_spec(config);
  const auto moe_layers = static_cast<std::int64_t>(model.moe_layers.size());
  const std::int64_t hidden = config.hidden;
  RunMemory memory;
  memory.weights_bytes =
      kBf16Bytes * hidden *
          (2 * std::int64_t{config.vocab} + 3 * config.dense_intermediate * (model.layers - moe_layers) +
           model.experts * moe_layers) +
      model.attention_bytes * model.layers;
  const std::int64_t all = model.experts * moe_layers * model.expert_bytes;
  const ClusterSpec& cluster = setup.cluster;
  if (threads) {
    // The primaries, redundant slots, and one to pass copies through.
    const std::int64_t slots = ceil_div(model.experts, cluster.ffn_workers) + cluster.redundant_slots + 1;
    memory.arena_bytes = slots * moe_layers * migrate::slot_stride(model.expert_bytes);
    memory.arenas = cluster.ffn_workers;
  }
  if (!threads || setup.planner.policy == "ideal") memory.everywhere_bytes = all;
  memory.token_bytes = model.kv_bytes_per_token * model.layers;
  memory.caches = cluster.attention_workers;
  return memory;
}

void refuse_beyond_memory(const RunMemory& memory, std::int64_t kv_budget_tokens, bool made_up) {
  const double weights = memory.weights(), cache = memory.cache(kv_budget_tokens);
  const auto available = static_cast<double>(migrate::available_memory_bytes());
  if (weights + cache > available)
    throw Error(ErrorKind::io,
                fmt::format("the run needs {} of memory, {} for weights and {} for {} cached tokens of each attention "
                            "worker, and {} are available",
                            gib(weights + cache), gib(weights), gib(cache), kv_budget_tokens, gib(available)),
                hint(weights, cache, made_up));
}

void refuse_beyond_gpu(const RunMemory& memory, std::int64_t kv_budget_tokens, bool made_up, std::int64_t free_bytes) {
  const auto arena = static_cast<double>(std::max(memory.arena_bytes, memory.everywhere_bytes));
  const double cache = memory.cache(kv_budget_tokens) / static_cast<double>(memory.caches);
  const double attention = static_cast<double>(memory.weights_bytes) + cache;
  if (const double most = std::max(arena, attention); most > static_cast<double>(free_bytes))
    throw Error(
        ErrorKind::io,
        fmt::format("{} worker needs {} of a GPU's memory, and {} are free",
                    arena > attention ? "an FFN" : "an attention", gib(most), gib(static_cast<double>(free_bytes))),
        hint(static_cast<double>(memory.weights_bytes) + arena, cache, made_up));
}

}  // namespace afore::serve
