#include "stream_out.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>

#include "common/cli.h"
#include "common/parse.h"
#include "util/error.h"
#include "wire/wire.h"

namespace afore::cli {

Header make_header(const std::string& source, std::uint64_t seed, const ModelSpec& model, std::int64_t microbatches) {
  Header header;
  header.producer = producer("afore-trace");
  header.seed = seed;
  header.source = source;
  header.model = model;
  header.cluster.microbatches = microbatches;
  return header;
}

void write_header(RecordSink& out, const Header& header, const JsonObject& workload) {
  std::string line = wire::to_json(header);
  line.pop_back();
  line += ",\"workload\":";
  line += workload.text();
  line += '}';
  out.write_line(line);
}

std::vector<int> select_layers(const ModelSpec& model, const std::string& list) {
  std::vector<int> positions(model.moe_layers.size());
  std::iota(positions.begin(), positions.end(), 0);
  if (list.empty()) return positions;
  positions.clear();
  for (const int layer : parse_int_list(list, "--layers")) {
    const auto at = std::lower_bound(model.moe_layers.begin(), model.moe_layers.end(), layer);
    if (at == model.moe_layers.end() || *at != layer)
      throw Error(ErrorKind::usage, fmt::format("--layers: layer {} is not a MoE layer of this model", layer),
                  fmt::format("its MoE layers are {} to {}", model.moe_layers.front(), model.moe_layers.back()));
    positions.push_back(static_cast<int>(at - model.moe_layers.begin()));
  }
  return positions;
}

void keep_layers(ModelSpec& model, const std::vector<int>& positions) {
  std::vector<int> kept;
  for (const int position : positions) kept.push_back(model.moe_layers[position]);
  model.moe_layers = kept;
}

}  // namespace afore::cli
