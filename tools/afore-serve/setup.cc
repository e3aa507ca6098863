#include "afore-serve/setup.h"

#include "util/error.h"

namespace afore::serve {

host::SimOptions sim_options(const ServeFlags& flags, const cli::Setup& setup) {
  host::SimOptions options;
  options.model = setup.model;
  options.cluster = setup.cluster;
  options.layer_cost = setup.cost;
  options.pipeline_cost = pipeline_cost(setup.profile, setup.sized);
  options.overlap = setup.planner.overlap;
  options.kv_tokens = flags.kv_tokens;
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

}  // namespace afore::serve
