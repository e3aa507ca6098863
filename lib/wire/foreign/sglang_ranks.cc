// The dumps of several ranks as one.
#include <fmt/format.h>

#include <algorithm>

#include "wire/foreign/fail_in.h"
#include "wire/foreign/sglang_pt.h"
#include "wire/json_tree.h"

namespace afore::wire {
namespace {

std::string part_name(const std::vector<std::string>& names, std::size_t part, std::optional<std::int64_t> rank) {
  return rank ? fmt::format("{}: rank {}", names[part], *rank) : names[part];
}

// Both shapes have rows, cells, map and rank.
template <class File>
void check_alike(const std::vector<File>& parts, const std::vector<std::string>& names) {
  AFORE_CHECK(!parts.empty() && parts.size() == names.size(), "each part has a name");
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].rows != parts[0].rows || parts[i].cells != parts[0].cells)
      fail_in(names[i], fmt::format("has {} layers of {} slots, {} has {} of {}", parts[i].rows, parts[i].cells,
                                    names[0], parts[0].rows, parts[0].cells));
    if (parts[i].physical_to_logical != parts[0].physical_to_logical)
      fail_in(names[i], "its map is not that of " + names[0], "the dumps are of different moments; take them together");
    for (std::size_t j = 0; j < i; ++j)
      if (parts[i].rank && parts[i].rank == parts[j].rank)
        fail_in(names[i], fmt::format("is of rank {}, and so is {}", *parts[i].rank, names[j]));
  }
}

// Ids ascend in each: the first difference is a pass that one of them lacks.
void check_passes(const std::vector<std::int64_t>& first, const std::string& first_name,
                  const std::vector<std::int64_t>& passes, const std::string& name) {
  const auto [a, b] = std::mismatch(first.begin(), first.end(), passes.begin(), passes.end());
  if (a == first.end() && b == passes.end()) return;
  const bool absent = b == passes.end() || (a != first.end() && *a < *b);
  fail_in(absent ? name : first_name,
          fmt::format("forward pass {} is absent, {} has it", absent ? *a : *b, absent ? first_name : name),
          "take the dumps of one recording");
}

std::vector<std::int64_t> passes_of(const RoutingFile& file) {
  std::vector<std::int64_t> passes;
  for (const RoutingFile::Span& span : file.spans) passes.push_back(std::stoll(span.id));
  return passes;
}

}  // namespace

CountsFile sum_ranks(std::vector<CountsFile> parts, const std::vector<std::string>& names) {
  check_alike(parts, names);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].step_ids.empty() && parts.size() > 1)
      fail_in(names[i], "its counts are of all ranks already", "give this file alone");
    check_passes(parts[0].step_ids, part_name(names, 0, parts[0].rank), parts[i].step_ids,
                 part_name(names, i, parts[i].rank));
  }
  CountsFile out = std::move(parts[0]);
  for (std::size_t i = 1; i < parts.size(); ++i)
    for (std::size_t cell = 0; cell < out.counts.size(); ++cell)
      if ((out.counts[cell] += parts[i].counts[cell]) > kMaxInteger)
        fail_in(names[i], "a count sums to more than 2^53");
  if (parts.size() > 1) out.rank.reset();
  return out;
}

RoutingFile join_ranks(std::vector<RoutingFile> parts, const std::vector<std::string>& names) {
  check_alike(parts, names);
  std::int64_t tokens = 0;
  const std::vector<std::int64_t> passes = passes_of(parts[0]);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].top_k != parts[0].top_k)
      fail_in(names[i], fmt::format("has {} choices of a token, {} has {}", parts[i].top_k, names[0], parts[0].top_k));
    check_passes(passes, part_name(names, 0, parts[0].rank), passes_of(parts[i]), part_name(names, i, parts[i].rank));
    tokens += parts[i].tokens;
  }
  if (parts.size() == 1) return std::move(parts[0]);
  const std::int64_t cells_of_token = parts[0].rows * parts[0].top_k;
  if (tokens > kMaxTableCells / cells_of_token)
    fail_in(names[0], fmt::format("the ranks together have more than {} cells", kMaxTableCells));
  std::vector<std::int32_t> ids;
  ids.reserve(static_cast<std::size_t>(tokens * cells_of_token));
  std::vector<RoutingFile::Span> spans;
  for (std::size_t pass = 0; pass < passes.size(); ++pass) {
    const auto offset = static_cast<std::int64_t>(ids.size()) / cells_of_token;
    for (const RoutingFile& part : parts) {
      const RoutingFile::Span& span = part.spans[pass];
      const auto begin = part.ids.begin() + static_cast<std::ptrdiff_t>(span.offset * cells_of_token);
      ids.insert(ids.end(), begin, begin + static_cast<std::ptrdiff_t>(span.tokens * cells_of_token));
    }
    const std::int64_t end = static_cast<std::int64_t>(ids.size()) / cells_of_token;
    spans.push_back({parts[0].spans[pass].id, offset, end - offset, 0, false});
  }
  RoutingFile out = std::move(parts[0]);
  out.tokens = tokens;
  out.ids = std::move(ids);
  out.spans = std::move(spans);
  out.rank.reset();
  return out;
}

}  // namespace afore::wire
