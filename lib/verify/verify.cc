// The stream's order: header, then demands each answered by one plan, with placement records in between.
#include "verify/verify.h"

#include <algorithm>
#include <map>
#include <optional>
#include <vector>

#include "verify/state.h"

namespace afore::verify {
namespace {

// Larger values are no plausible input, and sums of them would not fit.
constexpr Nanos kMaxCostNs = 1'000'000'000;
constexpr Nanos kMaxCopyNs = 1'000'000'000'000;
constexpr std::int64_t kMaxTokens = std::int64_t{1} << 31;
constexpr std::int64_t kMaxSize = 1 << 20;
constexpr std::int64_t kLeastPermille = 100, kMostPermille = 100'000;

void require(std::int64_t value, const char* name, std::int64_t min, std::int64_t max) {
  if (value == kAbsent)
    throw Error(ErrorKind::data, fmt::format("header: {} is absent", name), "plan the stream with afore-plan first");
  if (value < min || value > max)
    throw Error(ErrorKind::data, fmt::format("header: {} is {}, not in {}..{}", name, value, min, max));
}

void read_traits(const ClusterSpec& cluster, Facts& facts) {
  facts.slowness.assign(facts.workers, 1000);
  facts.copy_slowness.assign(facts.workers, 1000);
  facts.drains.assign(facts.workers, 0);
  facts.pinned.assign(facts.experts, 0);
  for (int w = 0; w < facts.workers && !cluster.workers.empty(); ++w) {
    const WorkerTraits& traits = cluster.workers[w];
    for (const std::int64_t permille : {traits.slowdown_permille, traits.copy_slowdown_permille})
      if (permille < kLeastPermille || permille > kMostPermille)
        throw Error(ErrorKind::data, fmt::format("header: cluster.workers: worker {} has {} thousandths, not in {}..{}",
                                                 w, permille, kLeastPermille, kMostPermille));
    facts.slowness[w] = traits.slowdown_permille;
    facts.copy_slowness[w] = traits.copy_slowdown_permille;
    facts.drains[w] = traits.draining;
  }
  facts.fastest = *std::min_element(facts.slowness.begin(), facts.slowness.end());
  for (const int expert : facts.planner.pinned_experts) {
    if (expert < 0 || expert >= facts.experts)
      throw Error(ErrorKind::data,
                  fmt::format("header: planner.pinned_experts names expert {} of {}", expert, facts.experts));
    facts.pinned[expert] = 1;
  }
}

Facts read_header(const Header& header) {
  const auto& model = header.model;
  const auto& cluster = header.cluster;
  require(model.experts, "model.experts", 1, kMaxSize);
  require(model.top_k, "model.top_k", 1, model.experts);
  require(cluster.ffn_workers, "cluster.ffn_workers", 1, kMaxSize);
  require(cluster.redundant_slots, "cluster.redundant_slots", 0, kMaxSize);
  require(cluster.tile_tokens, "cluster.tile_tokens", 1, kMaxSize);
  require(cluster.microbatches, "cluster.microbatches", 1, kMaxSize);
  if (!header.planner)
    throw Error(ErrorKind::data, "header: planner is absent", "plan the stream with afore-plan first");
  const PlannerSpec& planner = *header.planner;
  require(planner.cost.c0_ns, "planner.cost.c0_ns", 0, kMaxCostNs);
  require(planner.cost.c1_ns, "planner.cost.c1_ns", 1, kMaxCostNs);
  require(planner.cost.c2_ns, "planner.cost.c2_ns", 0, kMaxCostNs);
  require(planner.cost.copy_ns, "planner.cost.copy_ns", 0, kMaxCopyNs);
  require(planner.copy_budget, "planner.copy_budget", 0, std::int64_t{1} << 53);
  if (planner.cost.tile_tokens != cluster.tile_tokens)
    throw Error(ErrorKind::data, fmt::format("header: planner.cost.tile_tokens is {}, cluster.tile_tokens {}",
                                             planner.cost.tile_tokens, cluster.tile_tokens));
  const std::int64_t slots = divide_up(model.experts, cluster.ffn_workers) + cluster.redundant_slots;
  if (slots * cluster.ffn_workers > std::int64_t{1} << 26)
    throw Error(ErrorKind::data,
                fmt::format("header: {} workers with {} slots are too many to check", cluster.ffn_workers, slots));
  Facts facts;
  facts.experts = static_cast<int>(model.experts);
  facts.workers = static_cast<int>(cluster.ffn_workers);
  facts.slots = static_cast<int>(slots);
  facts.microbatches = static_cast<int>(cluster.microbatches);
  facts.top_k = model.top_k;
  facts.tile_tokens = cluster.tile_tokens;
  facts.moe_layers = model.moe_layers;
  facts.planner = planner;
  read_traits(cluster, facts);
  return facts;
}

bool unlike(std::int64_t later, std::int64_t first) { return later != kAbsent && later != first; }

// Whether a later header has a key with another value. One that lacks keys is fine: streams may be concatenated.
bool differs(const Header& later, const Header& first) {
  const ModelSpec &m = later.model, &n = first.model;
  const ClusterSpec &c = later.cluster, &d = first.cluster;
  if (!m.name.empty() && m.name != n.name) return true;
  if (!m.moe_layers.empty() && m.moe_layers != n.moe_layers) return true;
  if (unlike(m.layers, n.layers) || unlike(m.experts, n.experts) || unlike(m.top_k, n.top_k) ||
      unlike(m.hidden, n.hidden) || unlike(m.moe_intermediate, n.moe_intermediate) ||
      unlike(m.expert_bytes, n.expert_bytes) || unlike(m.attention_bytes, n.attention_bytes) ||
      unlike(m.kv_bytes_per_token, n.kv_bytes_per_token))
    return true;
  if (unlike(c.attention_workers, d.attention_workers) || unlike(c.ffn_workers, d.ffn_workers) ||
      unlike(c.redundant_slots, d.redundant_slots) || unlike(c.tile_tokens, d.tile_tokens) ||
      unlike(c.microbatches, d.microbatches) || (!c.workers.empty() && c.workers != d.workers))
    return true;
  return later.planner && !(later.planner == first.planner);
}

}  // namespace

struct Verifier::State {
  Verifier::Counts counts;
  std::optional<Header> header;
  Facts facts;
  std::map<int, LayerMap> layers;
  std::optional<Demand> open;   // waits for its plan
  std::vector<Target> planned;  // by seq - first_seq: what observed records may refer to
  std::int64_t first_seq = 0;
  std::optional<Nanos> flag_window_ns;
  Timeline timeline;

  // Of a stream that begins in the midst of a run, as one of an endpoint does, the targets before it are not known.
  bool from_start() const { return first_seq == 0; }
  // Which slots its layer's targets that are still under way work in: bounds ask for that.
  bool knows_slots(const LayerMap& map) const { return from_start() || map.targets >= facts.microbatches - 1; }
  LayerMap& layer(int index) { return layers.try_emplace(index, LayerMap::initial(facts)).first->second; }

  void check(const Header& next);
  void check(const Demand& demand);
  void check(const PlacementRecord& record);
  void check(const Plan& plan);
  void check(const Observed& observed);
  template <class Other>
  void check(const Other&) {}

  void match(const Plan& plan);
  void check_window(const Plan& plan);
};

void Verifier::State::check(const Header& next) {
  if (!header) {
    facts = read_header(next);
    header = next;
    return;
  }
  if (differs(next, *header))
    throw Error(ErrorKind::answer_no, "a later header differs from the first in model, cluster or planner");
}

void Verifier::State::check(const Demand& demand) {
  const Target& target = demand.target;
  if (open)
    violate(open->target, "demand has no plan before the next demand (step {} layer {} microbatch {})", target.step,
            target.layer, target.microbatch);
  if (!facts.moe_layers.empty() && !std::binary_search(facts.moe_layers.begin(), facts.moe_layers.end(), target.layer))
    violate(target, "layer {} is not one of the header's moe_layers", target.layer);
  if (target.microbatch < 0 || target.microbatch >= facts.microbatches)
    violate(target, "microbatch is not below the header's {}", facts.microbatches);
  if (static_cast<int>(demand.counts.size()) != facts.experts)
    violate(target, "demand has {} counts, expected {}", demand.counts.size(), facts.experts);
  if (demand.tokens < 0 || demand.dropped < 0 || demand.tokens > kMaxTokens)
    violate(target, "demand has {} tokens and {} dropped, not in range", demand.tokens, demand.dropped);
  const std::int64_t expected = demand.tokens * facts.top_k - demand.dropped;
  std::int64_t sum = 0;
  for (int e = 0; e < facts.experts; ++e) {
    if (demand.counts[e] < 0 || demand.counts[e] > kMaxTokens)
      violate(target, "count of expert {} is {}, not in range", e, demand.counts[e]);
    sum += demand.counts[e];
  }
  if (sum != expected) violate(target, "counts sum to {}, expected tokens * top_k - dropped = {}", sum, expected);
  ++counts.demands;
  open = demand;
}

// Before a layer's first plan the record says what stands; afterwards it must agree with the copies.
void Verifier::State::check(const PlacementRecord& record) {
  const auto fail = [&](const std::string& what) {
    throw Error(ErrorKind::answer_no, fmt::format("placement of layer {}: {}", record.layer, what));
  };
  if (record.slots_per_worker != facts.slots)
    fail(fmt::format("slots_per_worker is {}, expected {}", record.slots_per_worker, facts.slots));
  const std::size_t size = static_cast<std::size_t>(facts.workers) * facts.slots;
  if (record.physical_to_logical.size() != size)
    fail(fmt::format("has {} entries, expected {}", record.physical_to_logical.size(), size));
  LayerMap& now = layer(record.layer);
  LayerMap stated(facts.experts, facts.workers, facts.slots);
  for (int w = 0; w < facts.workers; ++w)
    for (int s = 0; s < facts.slots; ++s) {
      const int expert = record.physical_to_logical[static_cast<std::size_t>(w) * facts.slots + s];
      if (expert < kNobody || expert >= facts.experts)
        fail(fmt::format("slot {} of worker {} names expert {} of {}", s, w, expert, facts.experts));
      stated.held[stated.at(w, s)] = expert;
      const int stands = now.held[now.at(w, s)];
      if (now.planned && stands != expert)
        fail(fmt::format("slot {} of worker {} holds {}, after the copies it must be {}", s, w, expert, stands));
    }
  if (now.planned) return;
  for (int e = 0; e < facts.experts; ++e) {
    if (stated.replicas(e) == 0) fail(fmt::format("expert {} has no slot", e));
    if (stated.used_slot(e, stated.home(e)) == kAbsentSlot) stated.homes[e] = stated.holders()[e].front();
  }
  now = std::move(stated);
}

void Verifier::State::match(const Plan& plan) {
  if (!open) violate(plan.target, "plan {} answers no demand", plan.seq);
  if (plan.target != open->target)
    violate(plan.target, "plan {} follows the demand of step {} layer {} microbatch {}", plan.seq, open->target.step,
            open->target.layer, open->target.microbatch);
  if (planned.empty()) first_seq = plan.seq;
  const std::int64_t seq = first_seq + static_cast<std::int64_t>(planned.size());
  if (plan.seq != seq) violate(plan.target, "plan has seq {}, expected {}", plan.seq, seq);
  if (plan.policy != facts.planner.policy)
    violate(plan.target, "policy is {}, expected the header's {}", plan.policy, facts.planner.policy);
  if (plan.objective != facts.planner.objective)
    violate(plan.target, "objective is {}, expected the header's {}", to_string(plan.objective),
            to_string(facts.planner.objective));
}

// A window given on the command line is one number for the whole stream.
void Verifier::State::check_window(const Plan& plan) {
  if (plan.window_source != "flag") return;
  if (!flag_window_ns) flag_window_ns = plan.window_ns;
  if (plan.window_ns != *flag_window_ns)
    violate(plan.target, "window_ns is {}, expected {} as in every plan with a window from a flag", plan.window_ns,
            *flag_window_ns);
}

void Verifier::State::check(const Plan& plan) {
  match(plan);
  LayerMap& map = layer(plan.target.layer);
  const Standing standing = stand(facts, map, plan, *open);
  apply_copies(facts, plan, map);
  // From here on the layer is as the target finds it.
  check_assignment(facts, plan, *open, map);
  check_loads(facts, plan);
  check_before(facts, plan, standing);
  if (knows_slots(map)) check_bounds(facts, plan, standing);
  check_timing(facts, plan);
  if (from_start()) check_backlog(facts, plan, timeline);
  check_window(plan);
  record_work(plan, map);
  for (const AheadCopy& ahead : plan.ahead) apply_ahead(facts, plan, ahead, layer(ahead.layer));

  planned.push_back(plan.target);
  open.reset();
  ++counts.plans;
  counts.copies += std::ssize(plan.copies) + std::ssize(plan.ahead);
  counts.certified += plan.certified;
  counts.cuts += !plan.cut.empty();
}

void Verifier::State::check(const Observed& observed) {
  const std::int64_t at = observed.seq - first_seq;
  const bool before = at < 0 && !from_start() && observed.target.step < planned.front().step;
  if (before) return;  // of a target before the stream's beginning
  if (at < 0 || at >= static_cast<std::int64_t>(planned.size()))
    violate(observed.target, "observed refers to plan {}, which the stream does not have", observed.seq);
  const Target& target = planned[at];
  if (target != observed.target)
    violate(observed.target, "observed refers to plan {}, which is for step {} layer {} microbatch {}", observed.seq,
            target.step, target.layer, target.microbatch);
  check_observed(observed);
  ++counts.observed;
}

Verifier::Verifier() : state_(std::make_unique<State>()) {}
Verifier::~Verifier() = default;

void Verifier::feed(const Record& record) {
  if (!state_->header && !std::holds_alternative<Header>(record))
    throw Error(ErrorKind::data, "the stream does not start with a header", "plan the stream with afore-plan first");
  std::visit([this](const auto& value) { state_->check(value); }, record);
}

void Verifier::finish() {
  if (!state_->header) throw Error(ErrorKind::data, "the stream is empty", "plan the stream with afore-plan first");
  if (state_->open) violate(state_->open->target, "demand has no plan before the end of the stream");
}

const Verifier::Counts& Verifier::counts() const { return state_->counts; }

}  // namespace afore::verify
