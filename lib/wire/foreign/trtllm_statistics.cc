// meta_info.json and rank*.safetensors of TensorRT-LLM's ExpertStatistic: tensors "{iteration}_{layer}", each the
// number of times a token of the rank chose each expert.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "nn/safetensors.h"
#include "wire/foreign/elements.h"
#include "wire/foreign/fail_in.h"
#include "wire/foreign/trtllm.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

struct Key {
  std::int64_t iteration = 0, layer = 0;
  auto operator<=>(const Key&) const = default;
};
struct Table {
  Key key;
  std::uint64_t begin = 0;  // of its counts in the file
};

std::optional<std::int64_t> plain_number(std::string_view digits) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) return {};
  if (digits.size() > 1 && digits[0] == '0') return {};  // one spelling per number
  return value;
}

Key parse_key(const std::string& name, const std::string& source) {
  const std::size_t bar = std::min(name.find('_'), name.size());
  const std::optional<std::int64_t> iteration = plain_number(std::string_view(name).substr(0, bar));
  const std::optional<std::int64_t> layer = plain_number(std::string_view(name).substr(std::min(bar + 1, name.size())));
  if (!iteration || !layer || *layer > INT32_MAX)
    fail_in(source, "tensor " + in_quotes(name) + " is not named ITERATION_LAYER");
  return {*iteration, *layer};
}

// The tables in range, ascending.
std::vector<Table> read_tables(const NamedBytes& rank, std::int64_t experts,
                               const std::optional<IterationRange>& range) {
  std::vector<Table> tables;
  for (const nn::SafetensorsEntry& entry :
       nn::read_safetensors_header(std::as_bytes(std::span(rank.bytes)), rank.name)) {
    const Key key = parse_key(entry.name, rank.name);
    if (range && (key.iteration < range->first || key.iteration >= range->end)) continue;
    const std::string place = "tensor " + in_quotes(entry.name) + ": ";
    if (entry.dtype != "I64" || entry.shape.size() != 1)
      fail_in(rank.name, fmt::format("{}is {} {}, expected I64 counts of experts", place, entry.dtype, entry.shape),
              "rank*_raw.safetensors hold other tables");
    if (entry.shape[0] != experts)
      fail_in(rank.name, fmt::format("{}has {} counts, num_experts is {}", place, entry.shape[0], experts));
    tables.push_back({key, entry.begin});
  }
  std::sort(tables.begin(), tables.end(), [](const Table& a, const Table& b) { return a.key < b.key; });
  if (tables.empty())
    fail_in(rank.name, range ? fmt::format("no iteration is in {} to {}", range->first, range->end) : "has no tables");
  return tables;
}

// The shape of the first rank's tables: every iteration has the layers of the first.
void set_shape(const std::vector<Table>& tables, const std::string& source, CountsFile& out) {
  for (const Table& table : tables) {
    if (table.key.iteration == tables[0].key.iteration) out.layers.push_back(table.key.layer);
    if (out.step_ids.empty() || out.step_ids.back() != table.key.iteration) out.step_ids.push_back(table.key.iteration);
  }
  std::size_t next = 0;
  for (const std::int64_t iteration : out.step_ids) {
    for (const std::int64_t layer : out.layers) {
      if (next < tables.size() && tables[next].key == Key{iteration, layer}) ++next;
      else
        fail_in(source, fmt::format("iteration {} has no layer {}, or others than iteration {}", iteration, layer,
                                    out.step_ids[0]));
    }
    if (next < tables.size() && tables[next].key.iteration == iteration)
      fail_in(source, fmt::format("iteration {} has layer {}, iteration {} does not", iteration, tables[next].key.layer,
                                  out.step_ids[0]));
  }
  out.steps = static_cast<std::int64_t>(out.step_ids.size());
  out.rows = static_cast<std::int64_t>(out.layers.size());
}

void check_same_keys(const std::vector<Table>& first, const std::string& first_name, const std::vector<Table>& tables,
                     const std::string& name) {
  for (std::size_t i = 0; i < std::max(first.size(), tables.size()); ++i) {
    if (i < first.size() && i < tables.size() && first[i].key == tables[i].key) continue;
    const bool absent = i >= tables.size() || (i < first.size() && first[i].key < tables[i].key);
    const Key key = absent ? first[i].key : tables[i].key;
    fail_in(absent ? name : first_name,
            fmt::format("iteration {} of layer {} is absent, {} has it", key.iteration, key.layer,
                        absent ? first_name : name),
            "are all files of one run?");
  }
}

void add_counts(const std::vector<Table>& tables, const NamedBytes& rank, CountsFile& out) {
  std::size_t cell = 0;
  for (const Table& table : tables) {
    const std::uint8_t* at = rank.bytes.data() + table.begin;
    for (std::int64_t expert = 0; expert < out.cells; ++expert, at += sizeof(std::int64_t)) {
      const std::int64_t count = *whole_number(at, Element::i64);
      const auto place = [&] {
        return fmt::format("tensor \"{}_{}\": the count of expert {} ", table.key.iteration, table.key.layer, expert);
      };
      if (count < 0) fail_in(rank.name, place() + "is negative");
      if (count > kMaxInteger || (out.counts[cell] += count) > kMaxInteger)
        fail_in(rank.name, place() + "sums to more than 2^53");
      ++cell;
    }
  }
}

}  // namespace

CountsFile read_trtllm_statistics(std::string_view meta_info, const std::string& meta_source,
                                  std::span<const NamedBytes> ranks, std::optional<IterationRange> range) {
  JsonTree tree;
  ObjectReader meta(tree.parse(meta_info, meta_source));
  CountsFile out;
  out.axis = LayerAxis::keyed;
  out.ids = ExpertIds::logical;
  out.experts = out.cells = meta.required("num_experts").integer(1, 1 << 20, "num_experts");
  out.top_k = meta.required("num_experts_per_token").integer(1, out.cells, "num_experts_per_token");
  if (ranks.empty()) fail_in(meta_source, "there is no rank*.safetensors beside it");

  std::vector<Table> first;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    for (std::size_t before = 0; before < rank; ++before)
      if (ranks[before].name == ranks[rank].name) fail_in(ranks[rank].name, "is given twice");
    std::vector<Table> tables = read_tables(ranks[rank], out.cells, range);
    if (rank == 0) {
      set_shape(tables, ranks[0].name, out);
      // Each table was found to have its bytes, so the counts need no more than the first file has.
      if (out.steps * out.rows > kMaxTableCells / out.cells) fail_in(ranks[0].name, "there are too many tables");
      out.counts.resize(static_cast<std::size_t>(out.steps * out.rows * out.cells));
      first = tables;
    } else {
      check_same_keys(first, ranks[0].name, tables, ranks[rank].name);
    }
    add_counts(tables, ranks[rank], out);
  }
  return out;
}

}  // namespace afore::wire
