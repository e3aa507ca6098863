// placement and plan: what stands, and what is decided.
#include <algorithm>

#include "wire/decode.h"

namespace afore::wire {
namespace {

Copy read_copy(ObjectReader& object, std::int64_t experts, std::int64_t workers) {
  Copy copy;
  copy.expert = object.required("expert").index(experts, "expert");
  copy.from = object.required("from").index(workers, "worker");
  copy.to = object.required("to").index(workers, "worker");
  copy.slot = static_cast<int>(object.required("slot").integer(kStagingSlot, kMaxIndex, "slot"));
  return copy;
}

std::vector<Copy> read_copies(JsonValue array, std::int64_t experts, std::int64_t workers) {
  array.expect(JsonType::array);
  std::vector<Copy> copies;
  copies.reserve(array.size());
  for (const JsonValue item : array) {
    ObjectReader object(item);
    copies.push_back(read_copy(object, experts, workers));
  }
  return copies;
}

std::vector<AheadCopy> read_ahead(JsonValue array, std::int64_t workers, const DecodeContext& context) {
  array.expect(JsonType::array);
  std::vector<AheadCopy> ahead;
  ahead.reserve(array.size());
  for (const JsonValue item : array) {
    ObjectReader object(item);
    const int layer = read_layer(object, context);
    ahead.push_back({layer, read_copy(object, context.experts(), workers)});
  }
  return ahead;
}

struct Triplet {
  int expert, worker;
  std::int64_t amount;
};

// [[expert, worker, amount], ...] in any order; sorted by (expert, worker), each pair at most once.
std::vector<Triplet> read_triplets(JsonValue array, std::int64_t experts, std::int64_t workers, std::int64_t min,
                                   const char* noun) {
  array.expect(JsonType::array);
  std::vector<Triplet> list;
  list.reserve(array.size());
  for (const JsonValue item : array) {
    item.expect(JsonType::array);
    if (item.size() != 3) item.fail(std::string("expected [expert, worker, ") + noun + "]");
    auto at = item.begin();
    const int expert = (*at).index(experts, "expert");
    const int worker = (*++at).index(workers, "worker");
    list.push_back({expert, worker, (*++at).integer(min, kMaxInteger, noun)});
  }
  const auto before = [](const Triplet& a, const Triplet& b) {
    return a.expert != b.expert ? a.expert < b.expert : a.worker < b.worker;
  };
  if (!std::is_sorted(list.begin(), list.end(), before)) std::sort(list.begin(), list.end(), before);
  const auto twice = std::adjacent_find(list.begin(), list.end(), [](const Triplet& a, const Triplet& b) {
    return a.expert == b.expert && a.worker == b.worker;
  });
  if (twice != list.end())
    array.fail("expert " + std::to_string(twice->expert) + " stands twice on worker " + std::to_string(twice->worker));
  return list;
}

std::vector<std::int64_t> read_tile_load(JsonValue array, std::int64_t workers) {
  std::vector<std::int64_t> load = read_counts(array, "tile load");
  const auto size = static_cast<std::int64_t>(load.size());
  if (size == 0) array.fail("the list is empty");
  if (workers != kMaxIndex && size != workers)
    array.fail("the list has " + std::to_string(size) + " entries for " + std::to_string(workers) + " FFN workers");
  return load;
}

void read_times(ObjectReader& record, std::int64_t experts, Plan& plan) {
  plan.ffn_ns_before = record.required("ffn_ns_before").integer();
  plan.ffn_ns = record.required("ffn_ns").integer();
  plan.ffn_bound_ns = record.required("ffn_bound_ns").integer();
  plan.certified = record.required("certified").boolean();
  if (const JsonValue value = record.find("predicted_max_tile_load")) plan.predicted_max_tile_load = value.integer();
  if (const JsonValue value = record.find("predicted_ffn_ns")) plan.predicted_ffn_ns = value.integer();
  if (const JsonValue value = record.find("split_bound_ns")) plan.split_bound_ns = value.integer();
  if (const JsonValue value = record.find("budget_hit")) plan.budget_hit = value.boolean();
  if (const JsonValue value = record.find("relaxation_bound_ns")) plan.relaxation_bound_ns = value.integer();
  if (const JsonValue list = record.find("unready")) {
    list.expect(JsonType::array);
    for (const JsonValue item : list) {
      item.expect(JsonType::array);
      if (item.size() != 2) item.fail("expected [expert, worker]");
      const int expert = (*item.begin()).index(experts, "expert");
      plan.unready.push_back(
          {expert, (*++item.begin()).index(static_cast<std::int64_t>(plan.tile_load.size()), "worker")});
    }
  }
  if (const JsonValue backlog = record.find("backlog_ns")) {
    plan.backlog_ns = read_counts(backlog, "backlog");
    if (plan.backlog_ns.size() != plan.tile_load.size())
      backlog.fail("the list has " + std::to_string(plan.backlog_ns.size()) + " entries for " +
                   std::to_string(plan.tile_load.size()) + " FFN workers");
    plan.completion_ns = record.required("completion_ns").integer();
  }
  if (const JsonValue value = record.find("gain_bound_ns")) plan.gain_bound_ns = value.integer();
  plan.gain_ns = record.required("gain_ns").integer(-kMaxInteger);  // a plan may be forced against its gain
  plan.migration_ns = record.required("migration_ns").integer();
  plan.window_ns = record.required("window_ns").integer();
  plan.window_source = record.required("window_source").string();
  plan.exposed_ns = record.required("exposed_ns").integer();
}

}  // namespace

PlacementRecord decode_placement(ObjectReader& record, const DecodeContext& context) {
  PlacementRecord placement;
  placement.layer = read_layer(record, context);
  placement.slots_per_worker = record.required("slots_per_worker").integer(1, kMaxIndex, "slots_per_worker");
  const JsonValue map = record.required("physical_to_logical");
  map.expect(JsonType::array);
  const auto size = static_cast<std::int64_t>(map.size());
  const std::int64_t workers = context.ffn_workers();
  const std::string slots = std::to_string(placement.slots_per_worker);
  if (size == 0) map.fail("the map is empty");
  if (size % placement.slots_per_worker != 0)
    map.fail("the map is ragged: " + std::to_string(size) + " slots are no multiple of " + slots + " per worker");
  if (workers != kMaxIndex && size != workers * placement.slots_per_worker)
    map.fail("the map has " + std::to_string(size) + " slots, not " + std::to_string(workers) + " workers x " + slots);
  placement.physical_to_logical.reserve(map.size());
  for (const JsonValue slot : map) {
    const std::int64_t expert = slot.integer(kNoExpert, kMaxInteger, "expert");
    if (expert >= 0) slot.index(context.experts(), "expert");
    placement.physical_to_logical.push_back(static_cast<int>(expert));
  }
  return placement;
}

Plan decode_plan(ObjectReader& record, const DecodeContext& context) {
  Plan plan;
  plan.seq = record.required("seq").integer();
  plan.target = read_target(record, context);
  plan.policy = record.required("policy").string();
  plan.demand_source = record.required("demand_source").string();
  plan.objective = read_objective(record.required("objective"));
  if (const JsonValue flag = record.find("rehomes")) plan.rehomes = flag.boolean();
  if (const JsonValue flag = record.find("virtual")) plan.is_virtual = flag.boolean();

  const std::int64_t experts = context.experts();
  const JsonValue copies = record.required("copies");
  const JsonValue ahead = record.find("ahead");
  const JsonValue assignment = record.required("assignment");
  const JsonValue assignment_tokens = record.find("assignment_tokens");
  plan.tile_load = read_tile_load(record.required("tile_load"), context.ffn_workers());
  const auto workers = static_cast<std::int64_t>(plan.tile_load.size());
  plan.copies = read_copies(copies, experts, workers);
  if (ahead) plan.ahead = read_ahead(ahead, workers, context);
  for (const Triplet& t : read_triplets(assignment, experts, workers, 1, "tiles"))
    plan.assignment.push_back({t.expert, t.worker, t.amount});
  if (assignment_tokens)
    for (const Triplet& t : read_triplets(assignment_tokens, experts, workers, 0, "tokens"))
      plan.assignment_tokens.push_back({t.expert, t.worker, t.amount});

  plan.max_tile_load_before = record.required("max_tile_load_before").integer();
  plan.max_tile_load = record.required("max_tile_load").integer();
  plan.lower_bound = record.required("lower_bound").integer();
  if (const JsonValue cut = record.find("cut")) {
    cut.expect(JsonType::array);
    for (const JsonValue worker : cut) plan.cut.push_back(worker.index(workers, "worker"));
  }
  read_times(record, experts, plan);
  return plan;
}

}  // namespace afore::wire
