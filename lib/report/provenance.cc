#include "report/provenance.h"

#include <fmt/format.h>

#include "report/markup.h"
#include "report/ticks.h"

namespace afore::report {
namespace {

void join(std::string& text, const std::string& part) {
  if (!text.empty()) text += ", ";
  text += part;
}

std::string model_words(const ModelSpec& model) {
  std::string text = model.name;
  if (!model.moe_layers.empty()) join(text, fmt::format("{} MoE layers", model.moe_layers.size()));
  if (model.experts > 0) join(text, fmt::format("{} experts", model.experts));
  if (model.top_k > 0) join(text, fmt::format("top {}", model.top_k));
  if (model.expert_bytes > 0) {
    const Unit unit = byte_unit(static_cast<double>(model.expert_bytes));
    join(text, fmt::format("{} {} per expert", brief(static_cast<double>(model.expert_bytes) / unit.size), unit.name));
  }
  return text;
}

std::string cluster_words(const ClusterSpec& cluster) {
  std::string text;
  const auto add = [&](std::int64_t value, const char* what) {
    if (value >= 0) join(text, fmt::format("{} {}", value, what));
  };
  add(cluster.attention_workers, "attention workers");
  add(cluster.ffn_workers, "FFN workers");
  add(cluster.redundant_slots, "redundant slots");
  add(cluster.tile_tokens, "tokens per tile");
  add(cluster.microbatches, "microbatches");
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> provenance(const std::optional<Header>& header) {
  if (!header) return {{"stream", "without a header"}};
  std::vector<std::pair<std::string, std::string>> rows;
  const auto add = [&](const char* key, const std::string& value) {
    if (!value.empty()) rows.emplace_back(key, value);
  };
  add("producer", header->producer);
  std::string via;
  for (const std::string& tool : header->via) join(via, tool);
  add("via", via);
  add("source", header->source + (header->measured ? ", measured" : ""));
  add("model", model_words(header->model));
  add("cluster", cluster_words(header->cluster));
  if (header->planner)
    add("policy",
        fmt::format("{}, demand from {}, objective {}, cost {}", header->planner->policy,
                    header->planner->demand_source, to_string(header->planner->objective), header->planner->cost_name));
  add("seed", std::to_string(header->seed));
  return rows;
}

std::string caption(const std::optional<Header>& header) {
  std::string text;
  if (header && !header->model.name.empty()) join(text, shorten(header->model.name, 40));
  if (header && header->planner) join(text, "policy " + shorten(header->planner->policy, 20));
  if (header && header->cluster.ffn_workers > 0) join(text, fmt::format("{} FFN workers", header->cluster.ffn_workers));
  return text.empty() ? "stream without a header" : text;
}

}  // namespace afore::report
