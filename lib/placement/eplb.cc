#include "placement/eplb.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "util/error.h"

namespace afore::placement {
namespace {

void require(bool holds, const std::string& rule) {
  if (!holds) throw Error(ErrorKind::usage, "eplb: " + rule, "choose --slots, --eplb-groups and --eplb-nodes to fit");
}

// Indices by falling weight, ties to the lower index.
std::vector<int> heaviest_first(const std::vector<float>& weight) {
  std::vector<int> order(weight.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return weight[a] > weight[b]; });
  return order;
}

struct Packs {
  std::vector<std::vector<int>> items;  // by pack, in the order packed
  std::vector<float> load;
};

bool contains_label(const std::vector<int>& items, const std::vector<int>& label, int value) {
  return std::any_of(items.begin(), items.end(), [&](int item) { return label[item] == value; });
}

// Every pack with room holds this label: another full pack gives one item to the lightest pack with room.
void swap_in(Packs& packs, int item, int open, const std::vector<float>& weight, const std::vector<int>& label) {
  int best_pack = -1;
  std::size_t best_at = 0;
  float best_gap = 0;
  for (int pack = 0; pack < static_cast<int>(packs.items.size()); ++pack) {
    if (contains_label(packs.items[pack], label, label[item])) continue;
    for (std::size_t at = 0; at < packs.items[pack].size(); ++at) {
      const int other = packs.items[pack][at];
      if (contains_label(packs.items[open], label, label[other])) continue;
      const float gap = std::max(packs.load[pack] - weight[other] + weight[item], packs.load[open] + weight[other]);
      if (best_pack >= 0 && gap >= best_gap) continue;
      best_pack = pack;
      best_at = at;
      best_gap = gap;
    }
  }
  if (best_pack < 0) {  // more replicas than packs: a duplicate cannot be avoided
    packs.items[open].push_back(item);
    packs.load[open] += weight[item];
    return;
  }
  const int other = packs.items[best_pack][best_at];
  packs.items[best_pack][best_at] = item;
  packs.load[best_pack] += weight[item] - weight[other];
  packs.items[open].push_back(other);
  packs.load[open] += weight[other];
}

// Equal counts per pack: heaviest first onto the lightest pack with room. With `label`, no two items of one label share
// a pack as long as packs allow.
std::vector<std::vector<int>> pack_evenly(const std::vector<float>& weight, int pack_count,
                                          const std::vector<int>* label) {
  const std::size_t per_pack = weight.size() / pack_count;
  Packs packs{std::vector<std::vector<int>>(pack_count), std::vector<float>(pack_count, 0.0f)};
  if (per_pack == 1) {  // as the original: nothing to choose, order kept
    for (int pack = 0; pack < pack_count; ++pack) packs.items[pack].push_back(pack);
    return packs.items;
  }
  for (const int item : heaviest_first(weight)) {
    int best = -1, open = -1;
    for (int pack = 0; pack < pack_count; ++pack) {
      if (packs.items[pack].size() == per_pack) continue;
      if (open < 0 || packs.load[pack] < packs.load[open]) open = pack;
      if (label != nullptr && contains_label(packs.items[pack], *label, (*label)[item])) continue;
      if (best < 0 || packs.load[pack] < packs.load[best]) best = pack;
    }
    if (best < 0) {
      swap_in(packs, item, open, weight, *label);
      continue;
    }
    packs.items[best].push_back(item);
    packs.load[best] += weight[item];
  }
  return packs.items;
}

// One more replica for the expert with the largest load per replica, until `replicas` stand. `most` caps the replicas
// of one expert (0 = no cap).
std::vector<int> replicate(const std::vector<float>& weight, int replicas, int most, std::vector<int>& count) {
  const int experts = static_cast<int>(weight.size());
  std::vector<int> logical(replicas);
  std::iota(logical.begin(), logical.begin() + experts, 0);
  count.assign(experts, 1);
  const bool capped = most > 0 && static_cast<std::int64_t>(most) * experts >= replicas;
  for (int replica = experts; replica < replicas; ++replica) {
    int best = -1;
    for (int expert = 0; expert < experts; ++expert) {
      if (capped && count[expert] >= most) continue;
      if (best < 0 ||
          weight[expert] / static_cast<float>(count[expert]) > weight[best] / static_cast<float>(count[best]))
        best = expert;
    }
    logical[replica] = best;
    ++count[best];
  }
  return logical;
}

}  // namespace

std::vector<int> eplb_physical_to_logical(std::span<const double> weight, const EplbOptions& options) {
  const int experts = static_cast<int>(weight.size());
  require(experts > 0 && options.workers > 0 && options.groups > 0 && options.nodes > 0,
          "experts, workers, groups and nodes must be positive");
  const bool hierarchical = options.groups % options.nodes == 0;
  const int groups = hierarchical ? options.groups : 1;
  const int nodes = hierarchical ? options.nodes : 1;
  auto rule = [](const char* a, int x, const char* b, int y) {
    return std::string(a) + " (" + std::to_string(x) + ") is not a multiple of " + b + " (" + std::to_string(y) + ")";
  };
  require(experts % groups == 0, rule("experts", experts, "groups", groups));
  require(options.workers % nodes == 0, rule("workers", options.workers, "nodes", nodes));
  require(options.replicas % options.workers == 0, rule("replicas", options.replicas, "workers", options.workers));
  require(options.replicas >= experts,
          "fewer replicas (" + std::to_string(options.replicas) + ") than experts (" + std::to_string(experts) + ")");

  const std::vector<float> load(weight.begin(), weight.end());
  const int group_size = experts / groups;
  std::vector<float> group_load(groups, 0.0f);
  for (int expert = 0; expert < experts; ++expert) group_load[expert / group_size] += load[expert];

  const int workers_per_node = options.workers / nodes;
  std::vector<int> result;
  result.reserve(options.replicas);
  for (const std::vector<int>& node_groups : pack_evenly(group_load, nodes, nullptr)) {
    std::vector<int> global;
    std::vector<float> local;
    for (const int group : node_groups)
      for (int i = 0; i < group_size; ++i) {
        global.push_back(group * group_size + i);
        local.push_back(load[global.back()]);
      }
    std::vector<int> count;
    const std::vector<int> logical =
        replicate(local, options.replicas / nodes, options.allow_duplicates ? 0 : workers_per_node, count);
    std::vector<float> replica_load(logical.size());
    for (std::size_t i = 0; i < logical.size(); ++i)
      replica_load[i] = local[logical[i]] / static_cast<float>(count[logical[i]]);
    for (const auto& items : pack_evenly(replica_load, workers_per_node, options.allow_duplicates ? nullptr : &logical))
      for (const int item : items) result.push_back(global[logical[item]]);
  }
  return result;
}

}  // namespace afore::placement
