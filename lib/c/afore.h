/* afore.h - plans for serving engines: where the experts of a mixture-of-experts model run for one target (a step's
 * layer and microbatch), and which replicas to copy first. C99; docs/embedding.md is the guide.
 *
 * Every function that can fail returns AFORE_OK, or a negative code and one line in afore_last_error(); none throws,
 * aborts or writes to standard error, and none minds a null pointer. Units are in the names: _ns, _bytes, _tokens.
 * Layers, experts, workers and slots are numbered from 0.
 *
 * Threads: an object is used by one thread at a time; different objects by different threads at will. A ring has one
 * thread for its producer and one for each reader, and these may use one handle at the same time.
 *
 * Versions: afore_config and afore_plan say their size first. Fields are added at their end only, a caller of an older
 * header gets what it knows, and what a smaller config lacks is as afore_config_init() sets it. */
#ifndef AFORE_H
#define AFORE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define AFORE_API __attribute__((visibility("default")))

/* Equal to the number in libafore.so.0: another one is another interface. */
#define AFORE_ABI_VERSION 0

AFORE_API const char* afore_version(void); /* "0.1.0", of the library */
AFORE_API int afore_abi_version(void);     /* AFORE_ABI_VERSION, of the library */

enum {
  AFORE_OK = 0,
  AFORE_E_ARGUMENT = -1, /* null, negative, misaligned, or a struct_size that cannot be */
  AFORE_E_CONFIG = -2,   /* a config that cannot be planned with */
  AFORE_E_DATA = -3,     /* counts, a map, weights or a plan that cannot be */
  AFORE_E_STATE = -4,    /* too late, or the planner is broken by an earlier plan that failed half-way */
  AFORE_E_CAPACITY = -5, /* the caller's memory, or the ring, is too small */
  AFORE_E_TIMEOUT = -6,
  AFORE_E_DAMAGED = -7, /* the ring's memory was written by others */
  AFORE_E_LOST = -8,    /* the reader was dropped */
  AFORE_E_MEMORY = -9,
  AFORE_E_INTERNAL = -10 /* a bug of ours */
};
AFORE_API const char* afore_status_text(int status);

/* ---- configuration ---- */

enum { AFORE_OBJECTIVE_TIME = 0, AFORE_OBJECTIVE_TILES = 1 };
enum { AFORE_DEMAND_PREFETCH = 0, AFORE_DEMAND_LAST_STEP = 1, AFORE_DEMAND_WINDOW = 2 };
enum { AFORE_RULE_ADDITIVE = 0, AFORE_RULE_ROOFLINE = 1 };

/* What an engine is and how to plan for it. -1 and NULL are "not said". Read during afore_planner_create() only. The
 * meaning of each choice: docs/policies.md; of the cost model: docs/metrics.md. */
typedef struct afore_config {
  uint32_t struct_size; /* sizeof(afore_config) of the caller */
  int32_t experts;      /* routed experts of a layer; required */
  int32_t top_k;        /* experts of a token; required: counts add up to tokens * top_k */
  int32_t layer_count;
  const int32_t* layers;    /* [layer_count] absolute indices that may be planned; NULL: any */
  int64_t hidden;           /* hidden, moe_intermediate and expert_bytes: only where the cost's units */
  int64_t moe_intermediate; /* below do not say what they would give */
  int64_t expert_bytes;     /* weights of one routed expert as stored */
  int32_t ffn_workers;      /* required */
  int32_t redundant_slots;  /* per worker and layer, beyond ceil(experts / ffn_workers); 2 */
  int32_t tile_tokens;      /* rows of a grouped-GEMM tile; 64 */
  int32_t microbatches;     /* in flight; 1 */
  const char* cost;         /* a100, h100, h200 or cpu: the machine's rates; "h100" */
  int64_t c0_ns;            /* FFN time of a worker: c0 + c1 * tiles + c2 * activated experts; -1: from the rates */
  int64_t c1_ns;
  int64_t c2_ns;
  int64_t copy_ns;         /* one expert from one worker to another; -1: from the rates and expert_bytes */
  const char* policy;      /* one of afore-plan --policy; "afore" */
  int32_t cost_rule;       /* AFORE_RULE_ROOFLINE: c0 + max(c1 * tiles, c2 * activated experts) */
  int32_t objective;       /* AFORE_OBJECTIVE_ */
  int32_t demand_source;   /* AFORE_DEMAND_ */
  int32_t gain_rule;       /* 0 copies whatever that costs; 1 */
  int32_t overlap;         /* 0: copies start only when their worker is free; 1 */
  int32_t level;           /* policy afore: 0 where FFN workers wait for each other at each target; 1 */
  int32_t exact_split;     /* 1: tokens over the replicas of another system's policy exactly, not its own way; 0 */
  int32_t window_steps;    /* steps of history for eplb and AFORE_DEMAND_WINDOW; 50 */
  int64_t copy_budget;     /* copies per plan; -1: ffn_workers */
  int64_t node_budget;     /* nodes of the search that proves a split best; 0 */
  int64_t eplb_step_bytes; /* eplb: bytes copied per step; -1: 4 experts */
  int32_t eplb_interval;   /* eplb: steps between two rebalances; 50 */
  int32_t eplb_groups;     /* 1 */
  int32_t eplb_nodes;      /* 1 */
  int32_t eplb_duplicates; /* 0: never two replicas of an expert on one worker; 1 */
} afore_config;

/* Fills all of `config`: sizes of the model preset (docs/metrics.md "Model presets"; NULL: none), defaults for the
 * rest. Strings and lists it points to live as long as the library is loaded. */
AFORE_API int afore_config_init_sized(afore_config* config, uint32_t struct_size, const char* preset);
static inline int afore_config_init(afore_config* config, const char* preset) {
  return afore_config_init_sized(config, (uint32_t)sizeof(afore_config), preset);
}

/* ---- plans ---- */

typedef struct afore_copy { /* `expert` from worker `from` into `slot` of worker `to`, ahead of the target */
  int32_t expert;
  int32_t from;
  int32_t to;
  int32_t slot; /* -1: the worker's staging buffer */
} afore_copy;

typedef struct afore_share { /* what `worker` computes of `expert` */
  int32_t expert;
  int32_t worker;
  int64_t tiles;
  int64_t tokens; /* by the rule of docs/records.md, or as the policy splits them */
} afore_share;

enum {
  AFORE_PLAN_CERTIFIED = 1, /* nothing better exists within the limits */
  AFORE_PLAN_REHOMES = 2,   /* the policy moves primaries */
  AFORE_PLAN_VIRTUAL = 4    /* policy ideal: a yardstick that owns no slots */
};

/* Numbers are those of a plan record (docs/records.md). Pointers are into memory of whoever filled it. */
typedef struct afore_plan {
  uint32_t struct_size; /* sizeof(afore_plan) of the caller, set before the call */
  uint32_t flags;       /* AFORE_PLAN_ */
  int64_t seq;          /* plans of this planner before this one */
  int64_t step;
  int32_t layer;
  int32_t microbatch;
  int32_t experts;
  int32_t workers;
  int32_t slots_per_worker;
  int32_t reserved;
  int64_t tokens;
  const afore_copy* copies; /* [copy_count], in execution order */
  int64_t copy_count;
  const afore_share* shares; /* [share_count], ascending by (expert, worker), each pair once */
  int64_t share_count;
  const int64_t* tile_load; /* [workers] */
  int64_t max_tile_load_before;
  int64_t max_tile_load;
  int64_t lower_bound;   /* of max_tile_load */
  int64_t ffn_ns_before; /* best without copies */
  int64_t ffn_ns;
  int64_t ffn_bound_ns;
  int64_t gain_ns;       /* what the objective gains, less exposed_ns */
  int64_t migration_ns;  /* until the last copy ends */
  int64_t window_ns;     /* time that hides copies */
  int64_t exposed_ns;    /* of copies that the target waits for, beyond the window */
  int64_t completion_ns; /* until the last worker is done, with what earlier targets left it; -1: not known */
} afore_plan;

typedef struct afore_planner afore_planner;

/* On success *planner is the caller's, to be destroyed; else it is NULL. */
AFORE_API int afore_planner_create(const afore_config* config, afore_planner** planner);
AFORE_API void afore_planner_destroy(afore_planner* planner);

/* One line about the last call of this planner that failed, "" when none did; valid until its next call. NULL: about
 * the last failed call of this thread that had no planner (create, config, eplb, rings). */
AFORE_API const char* afore_last_error(const afore_planner* planner);

/* Plans one target, and takes the plan as made: its copies stand for the next targets. Targets come in stream order.
 * counts[experts]: tokens routed to each expert, none above `tokens`, together tokens * top_k. window_ns: time that
 * hides copies; -1: by the rule of docs/metrics.md "window_ns". `out` points into the planner until its next call.
 * AFORE_E_ARGUMENT, AFORE_E_DATA and AFORE_E_STATE leave the planner as it was; after any other failure half of the
 * plan may stand, and all later calls are AFORE_E_STATE. */
AFORE_API int afore_planner_plan(afore_planner* planner, int64_t step, int32_t layer, int32_t microbatch,
                                 int64_t tokens, const int64_t* counts, int64_t window_ns, afore_plan* out);
/* The same from 32-bit counts. */
AFORE_API int afore_planner_plan_i32(afore_planner* planner, int64_t step, int32_t layer, int32_t microbatch,
                                     int64_t tokens, const int32_t* counts, int64_t window_ns, afore_plan* out);

/* The most bytes a plan of this planner takes in a ring or in the buffer of a taker. */
AFORE_API int64_t afore_planner_plan_bytes(afore_planner* planner);

/* ---- placement ---- */

/* The map that stands in the layer: the expert of each slot, worker by worker, -1 = empty. Returns the number of
 * entries, ffn_workers * slots per worker; with map = NULL and capacity 0 only that. */
AFORE_API int64_t afore_placement_get(afore_planner* planner, int32_t layer, int32_t* map, int64_t capacity);
/* The map that the layer starts with, once, before its first plan: all `count` entries, every expert at least once. An
 * expert's primary is its initial worker (floor(expert * workers / experts)) where that holds it, else the lowest-index
 * worker that does. */
AFORE_API int afore_placement_set(afore_planner* planner, int32_t layer, const int32_t* map, int64_t count);

/* DeepSeek's expert-parallel load balancer (github.com/deepseek-ai/EPLB, MIT), re-stated: rebalance_experts().
 * weights[layers][experts] (float32 inside) -> physical_to_logical[layers][replicas], worker by worker. Either of the
 * others may be NULL: logical_to_physical[layers][experts][replicas - experts + 1], ascending, filled up with -1, and
 * expert_count[layers][experts]. Ties go to the lower index, which the original leaves open. */
AFORE_API int afore_place_eplb(const double* weights, int32_t layers, int32_t experts, int32_t replicas, int32_t groups,
                               int32_t nodes, int32_t workers, int32_t* physical_to_logical,
                               int32_t* logical_to_physical, int32_t* expert_count);

/* ---- plan ring: one producer and N readers of one machine ---- */

/* The ring lives in memory that the caller shares between processes, aligned to 64 bytes; a handle is one process's way
 * to it and is detached before the memory goes. */
typedef struct afore_ring afore_ring;

/* Memory for `capacity` plans of up to max_plan_bytes; a negative code where there is none such. */
AFORE_API int64_t afore_ring_bytes(int32_t capacity, int32_t readers, int64_t max_plan_bytes);
/* Makes an empty ring, by the producer, before readers attach. */
AFORE_API int afore_ring_init(void* memory, int64_t memory_bytes, int32_t capacity, int32_t readers,
                              int64_t max_plan_bytes, afore_ring** ring);
AFORE_API int afore_ring_attach(void* memory, int64_t memory_bytes, afore_ring** ring);
AFORE_API void afore_ring_detach(afore_ring* ring);

/* AFORE_E_TIMEOUT: a reader has not made room, and nothing was published: afore_ring_slowest() says which, and
 * afore_ring_drop() goes on without it, for good. 0 <= timeout_ns. */
AFORE_API int afore_ring_publish(afore_ring* ring, const afore_plan* plan, int64_t timeout_ns);
AFORE_API int afore_ring_slowest(afore_ring* ring); /* a reader; AFORE_E_STATE when all were dropped */
AFORE_API int afore_ring_drop(afore_ring* ring, int32_t reader);

/* The reader's next plan; `out` points into `buffer`, which is aligned to 8 bytes. AFORE_E_CAPACITY: the plan stays,
 * afore_ring_plan_bytes() is enough for any. AFORE_E_DAMAGED: what could not be read is skipped where it can be: seq
 * says what is missing. */
AFORE_API int afore_ring_take(afore_ring* ring, int32_t reader, void* buffer, int64_t buffer_bytes, int64_t timeout_ns,
                              afore_plan* out);
AFORE_API int64_t afore_ring_plan_bytes(afore_ring* ring); /* the largest plan that fits the ring */

#ifdef __cplusplus
}
#endif

#endif
