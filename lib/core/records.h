#pragma once
// The records of the stream (docs/records.md), as values. lib/wire turns them into JSON lines and back.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/assignment.h"
#include "core/cost_model.h"
#include "core/ids.h"
#include "core/model_spec.h"

namespace afore {

inline constexpr int kRecordVersion = 1;

// How the plans of a stream were made: the header's "planner" object, written by afore-plan so that serve and
// verify use the same numbers.
struct PlannerSpec {
  std::string policy;         // docs/policies.md has the names
  std::string demand_source;  // prefetch, last_step, window, prediction
  Objective objective = Objective::time;
  std::int64_t copy_budget = 0;  // copies per plan
  bool gain_rule = true;
  LayerCost cost;
  std::string cost_name;
  std::vector<int> pinned_experts;  // ascending: never copied, in any layer
  bool operator==(const PlannerSpec& o) const;
};

struct Header {
  int v = kRecordVersion;
  std::string producer;
  std::vector<std::string> via;
  std::uint64_t seed = 0;
  std::string source;     // docs/records.md, "header", has the words; empty = absent
  bool measured = false;  // times in it are of a clock: it differs from run to run
  ModelSpec model;
  ClusterSpec cluster;
  std::optional<PlannerSpec> planner;
};

// Rows of a batch, one after the other: consecutive tokens of one request.
struct RowSpan {
  std::string request;
  std::int64_t position = 0;            // of the first, in the request's tokens, prompt first
  std::int64_t tokens = 0;              // above 0
  std::vector<std::int64_t> token_ids;  // as many, or none where they are not known
};

struct Batch {
  std::int64_t step = 0;
  int microbatch = 0;
  std::int64_t sequences = 0;
  std::int64_t prefill_tokens = 0;
  std::int64_t kv_tokens = 0;  // cached tokens read by this microbatch, all attention workers together
  std::vector<std::int64_t> per_attention_worker;  // sequences; empty = split evenly
  std::vector<std::string> admitted, finished;
  std::int64_t sampled = kAbsent;  // sequences that get a token: decoding ones, and prompts that end here
  std::vector<RowSpan> rows{};     // in the order of the rows of routing records; empty = not told
};

struct Demand {
  Target target;
  Phase phase = Phase::decode;
  std::int64_t tokens = 0;
  std::vector<std::int64_t> counts;  // token-expert assignments, one per logical expert
  std::int64_t dropped = 0;          // only with --allow-drop
};

struct Routing {
  Target target;
  std::vector<std::vector<int>> experts;     // [token][k]
  std::vector<std::vector<double>> weights;  // same shape, or empty
};

// The demand of a target that lies ahead, guessed before its gate ran. The latest of a target counts.
struct Prediction {
  Target target;
  std::string predictor;             // cascade, replica, gate
  int after_layer = kAbsent;         // the last MoE layer whose true routing it rests on; kAbsent = none of this step
  std::vector<std::int64_t> counts;  // token-expert assignments, one per logical expert
  std::vector<std::vector<int>> experts{};  // [token][k], where the predictor names them; else empty
};

struct PlacementRecord {
  int layer = 0;
  std::int64_t slots_per_worker = 0;
  std::vector<int> physical_to_logical;  // worker-major, -1 = empty
};

// A copy for a target of another layer, started with a plan of this one.
struct AheadCopy {
  int layer = 0;
  Copy copy;
  bool operator==(const AheadCopy&) const = default;
};

struct Plan {
  std::int64_t seq = 0;
  Target target;
  std::string policy;
  std::string demand_source;
  Objective objective = Objective::time;
  bool rehomes = false;
  bool is_virtual = false;  // owns no slots (ideal)
  std::vector<Copy> copies;
  std::vector<AheadCopy> ahead;  // behind `copies`, for what is predicted of later targets
  std::vector<TileShare> assignment;
  std::vector<TokenShare> assignment_tokens;  // empty unless the policy splits otherwise than docs/records.md's rule
  std::vector<std::int64_t> tile_load;        // per worker
  std::int64_t max_tile_load_before = 0;
  std::int64_t max_tile_load = 0;
  std::int64_t lower_bound = 0;
  Nanos ffn_ns_before = 0;
  Nanos ffn_ns = 0;
  Nanos ffn_bound_ns = 0;
  bool certified = false;
  std::vector<int> cut;            // objective tiles: a worker set whose confined work proves the bound
  Nanos split_bound_ns = kAbsent;  // objective time: no split over the replicas that stand is below; absent: not sought
  bool budget_hit = false;         // the search for it ended at its node budget
  Nanos relaxation_bound_ns = kAbsent;  // policy director: of its linear program, no plan of its is below
  std::vector<Nanos> backlog_ns;        // per worker, taken to be left of earlier targets; empty: the target by itself
  std::vector<ReplicaAt> unready;       // that stand and are not used: their copies are still under way
  Nanos completion_ns = kAbsent;        // with a backlog: from the target's arrival until its last worker is done
  Nanos gain_ns = 0;
  Nanos gain_bound_ns = kAbsent;  // no copies within the limits gain more
  Nanos migration_ns = 0;
  Nanos window_ns = 0;
  std::string window_source;
  Nanos exposed_ns = 0;
  // Values on the guess, for plans not made from the target's own demand.
  std::optional<std::int64_t> predicted_max_tile_load;
  std::optional<Nanos> predicted_ffn_ns;
};

struct Observed {
  Target target;
  std::int64_t seq = 0;
  Nanos ffn_ns = 0;
  Nanos migration_ns = 0;
  Nanos window_ns = 0;
  Nanos exposed_ns = 0;
  Nanos slack_ns = 0;
  Nanos slot_wait_ns = 0;
};

struct Operation {
  std::string worker;  // "A0", "F3"
  std::string lane;    // compute, copy, a2f, f2a
  std::string op;      // attention, expert_ffn, copy_expert, ...
  Target target;
  Nanos start_ns = 0;
  Nanos end_ns = 0;
};

// FFN workers were lost, and how the others go on. Told by the simulator; other readers pass it through.
struct Membership {
  struct Reload {  // an expert that had no other replica, read from its source into a slot
    int layer = 0, expert = 0, worker = 0, slot = 0;
  };
  Nanos at_ns = 0;
  std::int64_t epoch = 0;
  std::vector<int> lost_workers;  // since the last epoch
  std::int64_t redone_targets = 0, abandoned_copies = 0;
  std::vector<Reload> reloads;
  Nanos reload_ns = 0;  // until the last of them is there
};

// Recorded routing that requests read their experts from.
struct SequenceRecord {
  std::string id;
  std::int64_t tokens = 0;            // rows
  std::int64_t prompt_tokens = 0;     // of the recorded request, before its rows; for people
  std::vector<std::uint8_t> experts;  // [tokens][MoE layers of the header][top_k]
};

struct RequestRecord {
  std::string id;
  Nanos arrival_ns = 0;  // from the start of the run
  std::int64_t prompt_tokens = 0, output_tokens = 0;
  std::string sequence;     // token t, prompt first, reads row (offset + t) mod tokens of it
  std::int64_t offset = 0;  // below the sequence's tokens
};

// Of a served request, in ns since the run began.
struct CompletionTimes {
  Nanos arrival_ns = 0;
  std::optional<Nanos> first_token_ns;  // none was sampled
  Nanos finished_ns = 0;
};

struct Completion {
  std::string id;
  std::int64_t prompt_tokens = 0;
  std::int64_t output_tokens = 0;  // sampled
  std::string finish_reason;
  std::vector<std::int64_t> token_ids;
  std::string text;
  std::string reject_reason;  // of rejected ones: queue_full, queue_time, kv_budget
  std::optional<CompletionTimes> times;
};

// In ms; null where not defined (n = 0), p99 also below 100 samples. `std` is that of all samples (divided by n).
struct LatencySummary {
  std::optional<double> mean, median, std, p95, p99;
  std::int64_t n = 0;
};

struct Summary {
  std::string producer;
  std::optional<double> duration;  // seconds
  std::optional<std::int64_t> completed, failed, total_input_tokens, total_output_tokens;
  std::optional<double> request_throughput, request_goodput, output_throughput, total_token_throughput;  // per second
  std::optional<std::int64_t> max_concurrent_requests;
  LatencySummary ttft, tpot, itl, e2el;
  // "afore": formulas in docs/metrics.md
  std::string policy, host, device;
  std::int64_t targets = 0, certified_targets = 0;
  std::optional<double> imbalance_tokens, imbalance_tiles, load_over_bound, balancedness;
  std::optional<double> gain_captured;        // of FFN time; null unless the ideal is faster than static
  std::optional<double> gain_captured_tiles;  // of the largest tile load; only under objective tiles
  std::int64_t copies = 0, copied_bytes = 0;
  std::optional<double> ffn_ns, ffn_ns_before;                          // means over targets
  std::optional<double> migration_ns, window_ns, exposed_ns, slack_ns;  // means over targets
  std::int64_t exposed_targets = 0, slot_waits = 0;
  LatencySummary itl_during_migration, itl_outside_migration;  // gaps in which a copy was under way, and the others
  std::optional<double> migrating_share;                       // of the time, with a copy under way
  std::optional<double> step_ns;                               // mean time of one step of one microbatch
  struct PlanTime {                                            // ns
    double mean = 0, p50 = 0, p99 = 0;
  };
  std::optional<PlanTime> plan_ns;  // wall clock; only with --timing or on measured hosts
  // Requests of a closed loop: injected = completed + queued + running + rejected + timed_out + cancelled.
  std::optional<std::int64_t> injected, queued, running, rejected, timed_out;
  std::int64_t cancelled = 0;  // their clients went away; written only when not 0
  std::optional<std::int64_t> peak_queued, peak_running;
  std::optional<double> mean_queue_ms;  // of the completed ones, from arrival to admission
  std::string saturation;               // STABLE, BACKLOGGED, OVERLOADED
  bool interrupted = false;
  std::int64_t input_lost_lines = 0, input_lost_bytes = 0;  // of a damaged log; written only when not both are 0
  std::map<std::string, std::string> notes;                 // further string facts, printed under "afore" in key order
};

// A record of a kind this version does not know: passed through, never interpreted.
struct UnknownRecord {
  std::string kind;
};

using Record = std::variant<Header, Batch, Demand, Routing, Prediction, PlacementRecord, Plan, Observed, Operation,
                            SequenceRecord, RequestRecord, Completion, Summary, UnknownRecord>;

}  // namespace afore
