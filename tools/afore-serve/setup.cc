#include "afore-serve/setup.h"

#include <fmt/format.h>

#include <algorithm>

#include "afore-serve/requests.h"
#include "common/cli.h"
#include "common/parse.h"
#include "util/error.h"

namespace afore::serve {
namespace {

void set_faults(const ServeFlags& flags, const cli::Setup& setup, host::SimOptions& options) {
  if (flags.faults.empty()) return;
  options.faults = host::parse_faults(flags.faults);
  options.fault_seed = static_cast<std::uint64_t>(flags.fault_seed);
  options.reload_ns = reload_ns(setup.profile, setup.cost);
  host::check_faults(options.faults, static_cast<int>(setup.cluster.attention_workers),
                     static_cast<int>(setup.cluster.ffn_workers));
  const bool kills = std::any_of(options.faults.begin(), options.faults.end(),
                                 [](const host::Fault& fault) { return fault.kind == host::FaultKind::kill; });
  if (kills && setup.model.moe_layers.empty())
    throw Error(ErrorKind::usage, "--faults kills a worker, and the model's layers are not known",
                "give --model PRESET, or a header that has moe_layers");
}

// A rank of expert parallelism is an attention worker and an FFN worker.
void check_ranks(const ServeFlags& flags, const ClusterSpec& cluster) {
  if (flags.dispatch == "broadcast")
    throw Error(ErrorKind::usage, "--dispatch broadcast is for --topology afd",
                "ranks send rows where the experts are");
  if (!flags.faults.empty())
    throw Error(ErrorKind::usage, "--faults is for --topology afd",
                "the loss of a rank, attention and experts together, is not simulated");
  if (cluster.attention_workers != cluster.ffn_workers)
    throw Error(ErrorKind::usage,
                fmt::format("--topology colocated: {} attention workers do not fit {} ranks", cluster.attention_workers,
                            cluster.ffn_workers),
                flags.planning.attention_workers == kAbsent
                    ? "the header says so: give a stream whose workers are as many"
                    : "each rank has attention and experts: drop --attention-workers");
}

}  // namespace

cli::Setup resolve(const ServeFlags& flags, const std::optional<Header>& header, const std::string& default_policy) {
  cli::Setup setup = cli::resolve(flags.planning, header, default_policy);
  if (flags.topology == "colocated") check_ranks(flags, setup.cluster);
  return setup;
}

host::SimOptions sim_options(const ServeFlags& flags, const cli::Setup& setup) {
  host::SimOptions options;
  options.model = setup.model;
  options.cluster = setup.cluster;
  options.layer_cost = setup.cost;
  options.pipeline_cost = pipeline_cost(setup.profile, setup.sized);
  options.topology = flags.topology == "colocated" ? host::Topology::colocated : host::Topology::afd;
  options.dispatch = flags.dispatch == "broadcast" ? host::Dispatch::broadcast : host::Dispatch::routed;
  options.overlap = setup.planner.overlap;
  options.kv_tokens = flags.kv_tokens;
  if (flags.links == "shared") {
    options.shared_chunk_bytes = cli::parse_bytes(flags.copy_chunk, "--copy-chunk");
    if (options.shared_chunk_bytes < 1) throw Error(ErrorKind::usage, "--copy-chunk must be above 0");
  }
  set_faults(flags, setup, options);
  return options;
}

void refuse_aggregate(const std::optional<Header>& header) {
  if (header && header->source == "counts")
    throw Error(ErrorKind::data, "the stream is an aggregate of counts, not a sequence of targets",
                "sample targets from it: afore-trace import --from sglang-count ... --sample-steps N --tokens B");
}

void complete_model(cli::Setup& setup, int experts) {
  if (setup.model.experts == kAbsent) setup.model.experts = experts;
  if (setup.model.top_k == kAbsent)
    throw Error(ErrorKind::usage, "the number of experts per token is not known", "give --top-k N");
}

Header made_header(const ServeFlags& flags) {
  Header header;
  header.producer = cli::producer("afore-serve");
  header.model.top_k = flags.planning.top_k;
  return header;
}

Header run_header(const Header& input, const Header& gained) {
  Header header = input;
  header.model = gained.model;
  header.cluster = gained.cluster;
  if (gained.planner) header.planner = gained.planner;
  header.via.push_back(cli::producer("afore-serve"));
  return header;
}

report::ViewOptions view_options(const RequestFlags& flags) {
  const pipeline::ServiceObjectives objectives = service_objectives(flags);
  report::ViewOptions options;
  options.limits.ttft_ms = objectives.ttft_ms;
  options.limits.tpot_ms = objectives.tpot_ms;
  return options;
}

}  // namespace afore::serve
