#include "routing_inputs.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "common/presets.h"
#include "trace/preset_match.h"
#include "util/error.h"
#include "util/line_io.h"

namespace afore::cli {
namespace {

constexpr std::size_t kMaxMetaBytes = std::size_t{256} << 20;

struct Source {
  std::string name, path;
};

bool is_name(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.';
  });
}

// "math=path/to/file" or a path; a path's domain is its file name up to the first dot.
Source parse_source(const std::string& text) {
  const auto equals = text.find('=');
  if (equals != std::string::npos && is_name(text.substr(0, equals)))
    return {text.substr(0, equals), text.substr(equals + 1)};
  const std::string file = text.substr(text.rfind('/') + 1);
  const std::string stem = file.substr(0, file.find('.'));
  return {is_name(stem) ? stem : "file", text};
}

std::string read_text(const std::string& path) {
  const auto bytes = read_file_bytes(path, kMaxMetaBytes);
  return {bytes.begin(), bytes.end()};
}

trace::RoutingTable load_table(const wire::RoutingIdsMeta& meta, const std::string& path,
                               const std::string& meta_path) {
  const trace::RoutingShape shape{meta.tokens, meta.layers, meta.top_k, meta.experts};
  const std::int64_t expected = trace::routing_bytes(shape, meta_path);
  // Room beyond what is expected, so that a longer file is told by its length.
  return {read_file_bytes(path, static_cast<std::size_t>(2 * expected + (1 << 20))), shape, path};
}

bool same_model(const wire::RoutingIdsMeta& a, const wire::RoutingIdsMeta& b) {
  return a.model_name == b.model_name && a.layers == b.layers && a.experts == b.experts && a.top_k == b.top_k &&
         a.moe_layers == b.moe_layers;
}

ModelSpec model_of(const wire::RoutingIdsMeta& meta, const std::string& preset_name) {
  const ModelSpec* preset = nullptr;
  if (!preset_name.empty()) {
    preset = &load_model_preset(preset_name);
  } else {
    preset = trace::match_preset(meta.model_name);
    // A name alone may lie: a shrunken or distilled variant has other experts, and then other sizes.
    if (preset != nullptr && (preset->experts != meta.experts || preset->top_k != meta.top_k)) preset = nullptr;
  }
  return trace::recorded_model(meta.model_name, meta.layers, meta.moe_layers, meta.experts, meta.top_k, preset);
}

void check_names(const std::vector<std::string>& domains) {
  for (std::size_t i = 0; i < domains.size(); ++i) {
    if (domains[i] == "mixed")
      throw Error(ErrorKind::usage, "a domain may not be called mixed", "--phases uses that word for all domains");
    if (std::find(domains.begin(), domains.begin() + i, domains[i]) != domains.begin() + i)
      throw Error(ErrorKind::usage, fmt::format("two inputs are called {}", domains[i]), "name them: NAME=FILE");
  }
}

std::vector<int> parse_pools(std::string_view text, const std::vector<std::string>& domains) {
  std::vector<int> pools;
  if (text == "mixed") {
    pools.resize(domains.size());
    std::iota(pools.begin(), pools.end(), 0);
    return pools;
  }
  while (true) {
    const auto plus = text.find('+');
    const auto at = std::find(domains.begin(), domains.end(), text.substr(0, plus));
    if (at == domains.end())
      throw Error(ErrorKind::usage, fmt::format("--phases: no input is called '{}'", text.substr(0, plus)),
                  "the domains are the inputs' names; mixed is all of them");
    const int pool = static_cast<int>(at - domains.begin());
    if (std::find(pools.begin(), pools.end(), pool) == pools.end()) pools.push_back(pool);
    if (plus == std::string_view::npos) break;
    text.remove_prefix(plus + 1);
  }
  std::sort(pools.begin(), pools.end());
  return pools;
}

}  // namespace

RoutingInputs load_routing_inputs(const ImportOptions& options) {
  if (options.metas.size() != options.inputs.size())
    throw Error(ErrorKind::usage, fmt::format("{} inputs but {} --meta", options.inputs.size(), options.metas.size()),
                "give each FILE its JSON index, in the same order; repeat the flag: --meta A.json --meta B.json");
  RoutingInputs all;
  wire::RoutingIdsMeta first;
  for (std::size_t pool = 0; pool < options.inputs.size(); ++pool) {
    const Source source = parse_source(options.inputs[pool]);
    const std::string& meta_path = options.metas[pool];
    wire::RoutingIdsMeta meta = wire::parse_routing_ids_meta(read_text(meta_path), meta_path);
    if (pool > 0 && !same_model(meta, first))
      throw Error(ErrorKind::data, fmt::format("{}: another model than {}", meta_path, options.metas[0]),
                  "the inputs of one workload must come from one model");
    all.domains.push_back(source.name);
    all.tables.push_back(load_table(meta, source.path, meta_path));
    for (const auto& r : meta.requests) {
      AFORE_CHECK(r.offset + r.tokens <= meta.tokens, "the index was checked");
      all.requests.push_back({static_cast<int>(pool), r.prompt_tokens, r.tokens, r.offset});
      all.rows += r.tokens;
    }
    if (pool == 0) first = std::move(meta);
  }
  check_names(all.domains);
  all.routing_model = first.model_name;
  all.model = model_of(first, options.model);
  return all;
}

std::vector<batch::WorkPhase> parse_phases(const std::string& text, const std::vector<std::string>& domains) {
  std::vector<batch::WorkPhase> phases;
  std::string_view rest = text;
  while (true) {
    const auto comma = rest.find(',');
    const std::string_view part = rest.substr(0, comma);
    const auto colon = part.rfind(':');
    std::int64_t steps = 0;
    if (colon != std::string_view::npos) {
      const auto [end, error] = std::from_chars(part.data() + colon + 1, part.data() + part.size(), steps);
      if (error != std::errc() || end != part.data() + part.size()) steps = 0;
    }
    if (steps < 1 || steps > (std::int64_t{1} << 40))
      throw Error(ErrorKind::usage, fmt::format("--phases: '{}' is not NAME:STEPS", part),
                  "like math:50,code:50,mixed:100");
    phases.push_back({parse_pools(part.substr(0, colon), domains), steps});
    if (comma == std::string_view::npos) return phases;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace afore::cli
