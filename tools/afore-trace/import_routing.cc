// What a gate chose, token by token and request by request, batched anew.
#include <fmt/core.h>

#include <algorithm>
#include <memory>

#include "batch/continuous.h"
#include "batch/prefill.h"
#include "import.h"
#include "routing_inputs.h"
#include "stream_out.h"
#include "util/error.h"

namespace afore::cli {
namespace {

struct ImportRun {
  const ImportOptions& options;
  RoutingInputs inputs;
  std::vector<batch::WorkPhase> phases;
  std::int64_t warmup_steps = 0, steps = 0;
  bool prefill = false;
};

void check(const ImportOptions& o) {
  if ((o.concurrent > 0) == (o.prefill_chunk > 0))
    throw Error(ErrorKind::usage, "give either --concurrent N or --prefill-chunk TOKENS",
                "--concurrent decodes with N live requests");
  if (o.concurrent > 0 && o.concurrent < o.microbatches)
    throw Error(ErrorKind::usage,
                fmt::format("--concurrent {} leaves some of {} microbatches empty", o.concurrent, o.microbatches),
                "use at least one live request per microbatch");
}

std::int64_t default_steps(const ImportRun& run) {
  std::int64_t cycle = 0;
  for (const batch::WorkPhase& phase : run.phases) cycle += phase.steps;
  if (!run.options.phases.empty()) return cycle;
  if (!run.prefill) return 100;
  return std::max<std::int64_t>(1, run.inputs.rows / (run.options.prefill_chunk * run.options.microbatches));
}

ImportRun prepare(const ImportOptions& o, RoutingInputs inputs) {
  ImportRun run{o, std::move(inputs), {}};
  run.prefill = o.prefill_chunk > 0;
  run.phases = parse_phases(o.phases.empty() ? "mixed:1" : o.phases, run.inputs.domains);
  run.warmup_steps = o.warmup_steps >= 0 ? o.warmup_steps : run.prefill ? 0 : 32;
  run.steps = o.steps > 0 ? o.steps : default_steps(run);
  return run;
}

std::unique_ptr<batch::Composer> make_composer(const ImportRun& run) {
  const ImportOptions& o = run.options;
  batch::PhaseSchedule schedule(run.phases, run.warmup_steps, run.warmup_steps + run.steps);
  const int microbatches = static_cast<int>(o.microbatches);
  if (run.prefill)
    return std::make_unique<batch::PrefillComposer>(
        run.inputs.requests, schedule,
        batch::PrefillOptions{.chunk_tokens = o.prefill_chunk, .microbatches = microbatches});
  return std::make_unique<batch::ContinuousComposer>(
      run.inputs.requests, schedule,
      batch::ContinuousOptions{
          .concurrent = static_cast<int>(o.concurrent),
          .microbatches = microbatches,
          .change = o.phase_change == "gradual" ? batch::PhaseChange::gradual : batch::PhaseChange::abrupt,
          .seed = static_cast<std::uint64_t>(o.seed)});
}

// The header comes first and says how often requests repeat, so the batching is run once without routing.
std::int64_t count_repeats(const ImportRun& run) {
  const auto composer = make_composer(run);
  for (std::int64_t step = 0; step < run.warmup_steps + run.steps; ++step) composer->next_step();
  return composer->repeats();
}

JsonObject workload_of(const ImportRun& run) {
  JsonObject workload;
  workload.add("form", run.prefill ? "prefill" : "decode");
  if (run.prefill) workload.add("chunk_tokens", run.options.prefill_chunk);
  else workload.add("concurrent", run.options.concurrent).add("phase_change", run.options.phase_change);
  workload.add("warmup_steps", run.warmup_steps).add("steps", run.steps);
  workload.add("requests", run.inputs.requests.size()).add("repeats", count_repeats(run));
  workload.add("routing_model", run.inputs.routing_model).add_raw("domains", json_array(run.inputs.domains));
  if (!run.options.phases.empty()) {
    std::string phases;
    for (const batch::WorkPhase& phase : run.phases) {
      std::vector<std::string> names;
      for (const int pool : phase.pools) names.push_back(run.inputs.domains[pool]);
      if (!phases.empty()) phases += ',';
      phases += JsonObject().add_raw("domains", json_array(names)).add("steps", phase.steps).text();
    }
    workload.add_raw("phases", "[" + phases + "]");
  }
  return workload;
}

std::string name_of(std::int64_t id) { return fmt::format("r{}", id); }

void append_ids(const std::vector<std::int64_t>& ids, std::vector<std::string>& names) {
  names.clear();
  for (const std::int64_t id : ids) names.push_back(name_of(id));
}

void write_batch(RecordSink& out, std::int64_t step, int microbatch, const batch::MicrobatchStep& m, bool with_rows,
                 Batch& record) {
  record.step = step;
  record.microbatch = microbatch;
  record.sequences = m.sequences;
  record.prefill_tokens = m.prefill_tokens;
  record.kv_tokens = m.kv_tokens;
  append_ids(m.admitted, record.admitted);
  append_ids(m.finished, record.finished);
  record.rows.clear();
  if (with_rows)
    for (const batch::RequestRows& of : m.requests) record.rows.push_back({name_of(of.id), of.position, of.tokens, {}});
  out.write_line(wire::to_json(record));
}

void count_experts(const RoutingInputs& inputs, const batch::MicrobatchStep& m, int recorded_layer, Demand& demand) {
  demand.tokens = static_cast<std::int64_t>(m.rows.size());
  demand.counts.assign(inputs.model.experts, 0);
  for (const batch::TokenRow& row : m.rows)
    for (const std::uint16_t expert : inputs.tables[row.pool].experts_of(row.row, recorded_layer))
      ++demand.counts[expert];
}

void write_rows(RecordSink& out, const RoutingInputs& inputs, const batch::MicrobatchStep& m, int recorded_layer,
                const Target& target, Routing& record) {
  record.target = target;
  record.experts.resize(m.rows.size());
  for (std::size_t i = 0; i < m.rows.size(); ++i) {
    const auto experts = inputs.tables[m.rows[i].pool].experts_of(m.rows[i].row, recorded_layer);
    record.experts[i].assign(experts.begin(), experts.end());
  }
  out.write_line(wire::to_json(record));
}

}  // namespace

void import_routing_ids(const ImportOptions& options) {
  check(options);
  import_routing(options, load_routing_inputs(options));
}

void import_routing(const ImportOptions& options, RoutingInputs inputs) {
  check(options);
  ImportRun run = prepare(options, std::move(inputs));
  const std::vector<int> recorded = select_layers(run.inputs.model, options.layers);
  keep_layers(run.inputs.model, recorded);
  warn_of_unknown_sizes(run.inputs.model);
  RecordSink out(options.output);
  write_header(out,
               make_header("routing", static_cast<std::uint64_t>(options.seed), run.inputs.model, options.microbatches),
               workload_of(run));
  const auto composer = make_composer(run);
  Batch batch_record;
  Demand demand;
  Routing routing;
  for (std::int64_t step = 0; step < run.warmup_steps + run.steps; ++step) {
    out.set_part(step, run.warmup_steps + run.steps);
    const auto microbatches = composer->next_step();
    demand.phase = step < run.warmup_steps ? Phase::warmup : run.prefill ? Phase::prefill : Phase::decode;
    for (std::size_t l = 0; l < recorded.size(); ++l)
      for (std::size_t m = 0; m < microbatches.size(); ++m) {
        if (l == 0) write_batch(out, step, static_cast<int>(m), microbatches[m], options.rows, batch_record);
        demand.target = {step, run.inputs.model.moe_layers[l], static_cast<int>(m)};
        count_experts(run.inputs, microbatches[m], recorded[l], demand);
        out.write_line(wire::to_json(demand));
        if (options.rows) write_rows(out, run.inputs, microbatches[m], recorded[l], demand.target, routing);
      }
  }
  out.finish();
}

}  // namespace afore::cli
