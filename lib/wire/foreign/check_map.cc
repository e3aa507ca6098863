#include "wire/foreign/check_map.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

namespace afore::wire {
namespace {

class Checker {
 public:
  Checker(const MapFile& map, MapTarget target, const MapContext& context)
      : map_(map), target_(target), context_(context) {}

  MapReport run() {
    for (const std::string& fact : map_.violations) add(true, "format", "", fact);
    if (map_.more_violations > 0) add(true, "format", "", fmt::format("and {} more", map_.more_violations));
    find_sizes();
    check_said();
    check_rows();
    for (std::size_t row = 0; row < map_.rows.size(); ++row) check_row(map_.rows[row], row);
    return std::move(report_);
  }

 private:
  void add(bool fatal, std::string rule, std::string place, std::string fact) {
    report_.violations.push_back({fatal, std::move(rule), std::move(place), std::move(fact)});
  }

  static std::int64_t slots_of(const MapFile::Row& row) {
    std::size_t slots = 0;
    for (const auto& rank : row.by_rank) slots += rank.size();
    return static_cast<std::int64_t>(slots);
  }

  std::int64_t largest_id() const {
    std::int64_t largest = -1;
    for (const MapFile::Row& row : map_.rows)
      for (const auto& rank : row.by_rank)
        for (const std::int64_t id : rank) largest = std::max(largest, id);
    return largest;
  }

  void find_sizes() {
    report_.rows = static_cast<std::int64_t>(map_.rows.size());
    report_.slots = map_.rows.empty() ? 0 : slots_of(map_.rows.front());
    report_.experts = context_.experts ? *context_.experts : map_.experts ? *map_.experts : largest_id() + 1;
    report_.ranks = context_.ranks ? *context_.ranks : map_.ranks.value_or(0);
    // An id far beyond the slots is an error in one place, not a model of so many experts.
    if (!context_.experts && !map_.experts) report_.experts = std::min(report_.experts, report_.slots);
    if (report_.experts > report_.slots) {
      add(true, "sizes", "", fmt::format("{} experts do not fit into {} slots", report_.experts, report_.slots));
      report_.experts = report_.slots;
    }
    report_.moe_rows = context_.moe_layers.empty() ? report_.rows
                       : map_.axis == LayerAxis::hidden
                           ? std::min<std::int64_t>(report_.rows, static_cast<std::int64_t>(context_.moe_layers.size()))
                           : report_.rows;
    report_.redundant_slots = std::max<std::int64_t>(0, report_.slots - report_.experts) * report_.moe_rows;
  }

  void compare(const std::optional<std::int64_t>& said, const std::optional<std::int64_t>& known, const char* what) {
    if (said && known && *said != *known)
      add(true, "sizes", "", fmt::format("the file says {} {}, and there are {}", *said, what, *known));
  }

  // The numbers that the file states about itself, against what it holds and what is known.
  void check_said() {
    compare(map_.experts, context_.experts, "experts");
    compare(map_.ranks, context_.ranks, "ranks");
    compare(map_.moe_layers, report_.rows, "MoE layers");
    compare(map_.physical, report_.slots, "slots per layer");
    if (map_.redundant && map_.physical && map_.experts && *map_.redundant != *map_.physical - *map_.experts)
      add(true, "sizes", "",
          fmt::format("{} redundant experts, but {} slots for {} experts", *map_.redundant, *map_.physical,
                      *map_.experts));
  }

  void check_rows() {
    const auto moe = static_cast<std::int64_t>(context_.moe_layers.size());
    if (map_.axis == LayerAxis::hidden && context_.hidden_layers && report_.rows != *context_.hidden_layers)
      add(true, "dense rows", "",
          fmt::format("{} rows for {} hidden layers{}", report_.rows, *context_.hidden_layers,
                      report_.rows == moe ? ": rows of the dense layers are missing (they must be full, too)" : ""));
    if (map_.axis == LayerAxis::moe && moe > 0 && report_.rows != moe)
      add(report_.rows < moe || target_ != MapTarget::vllm, "layers", "",
          report_.rows == context_.hidden_layers
              ? fmt::format("{} rows for {} MoE layers: rows of dense layers do not belong here", report_.rows, moe)
              : fmt::format("{} rows for {} MoE layers{}", report_.rows, moe,
                            report_.rows > moe && target_ == MapTarget::vllm ? ": only the last ones are used" : ""));
    if (map_.axis == LayerAxis::unsaid && moe > 0 && context_.hidden_layers && report_.rows != moe &&
        report_.rows != *context_.hidden_layers)
      add(true, "layers", "",
          fmt::format("{} rows, neither the {} MoE layers nor all {} layers", report_.rows, moe,
                      *context_.hidden_layers));
    if (map_.axis == LayerAxis::keyed && moe > 0) check_keys();
  }

  void check_keys() {
    std::vector<int> seen;
    for (const MapFile::Row& row : map_.rows) {
      seen.push_back(static_cast<int>(row.layer));
      if (!std::binary_search(context_.moe_layers.begin(), context_.moe_layers.end(), seen.back()))
        add(true, "dense rows", fmt::format("layer {}", row.layer), "is not a MoE layer of the model");
    }
    for (const int layer : context_.moe_layers)
      if (std::find(seen.begin(), seen.end(), layer) == seen.end())
        add(true, "layers", fmt::format("layer {}", layer), "is a MoE layer without an assignment");
  }

  std::string name(const MapFile::Row& row) const { return fmt::format("layer {}", row.layer); }

  void check_row(const MapFile::Row& row, std::size_t at) {
    const std::int64_t slots = slots_of(row);
    if (slots == 0) return add(true, "sizes", name(row), "no slots");
    if (at > 0 && slots != report_.slots)
      add(true, "ragged", name(row), fmt::format("{} slots, the first layer has {}", slots, report_.slots));
    std::vector<std::vector<std::int64_t>> ranks = row.by_rank;
    if (map_.ranks) {
      for (std::size_t rank = 1; rank < ranks.size(); ++rank)
        if (ranks[rank].size() != ranks[0].size())
          add(true, "ragged", fmt::format("{}, rank {}", name(row), rank),
              fmt::format("{} slots, rank 0 has {}", ranks[rank].size(), ranks[0].size()));
      if (report_.ranks > 0 && static_cast<std::int64_t>(ranks.size()) != report_.ranks)
        add(true, "ranks", name(row), fmt::format("{} ranks, not {}", ranks.size(), report_.ranks));
    } else if (report_.ranks > 0) {
      if (slots % report_.ranks != 0) {
        if (at == 0 || slots != report_.slots)
          add(true, "divisibility", name(row), fmt::format("{} slots on {} ranks", slots, report_.ranks));
      } else {
        ranks = split(row.by_rank[0], report_.ranks);
      }
    }
    check_ids(row, ranks);
    if (report_.ranks > 0 || map_.ranks) check_duplicates(row, ranks);
  }

  static std::vector<std::vector<std::int64_t>> split(const std::vector<std::int64_t>& slots, std::int64_t ranks) {
    const std::size_t each = slots.size() / static_cast<std::size_t>(ranks);
    std::vector<std::vector<std::int64_t>> parts;
    for (std::int64_t rank = 0; rank < ranks; ++rank)
      parts.emplace_back(slots.begin() + static_cast<std::ptrdiff_t>(rank * each),
                         slots.begin() + static_cast<std::ptrdiff_t>((rank + 1) * each));
    return parts;
  }

  // Adds the first few of one row, and how many more there are.
  class Few {
   public:
    Few(Checker& checker, bool fatal, std::string rule, std::string row)
        : checker_(checker), fatal_(fatal), rule_(std::move(rule)), row_(std::move(row)) {}
    void finish() {
      if (count_ > kViolationsPerRow)
        checker_.add(fatal_, rule_, row_, fmt::format("and {} more of this kind", count_ - kViolationsPerRow));
    }
    void add(const std::string& place, const std::string& fact) {
      if (++count_ <= kViolationsPerRow) checker_.add(fatal_, rule_, row_ + place, fact);
    }

   private:
    Checker& checker_;
    bool fatal_;
    std::string rule_, row_;
    int count_ = 0;
  };

  void check_ids(const MapFile::Row& row, const std::vector<std::vector<std::int64_t>>& ranks) {
    std::vector<std::uint8_t> held(static_cast<std::size_t>(report_.experts), 0);
    Few outside(*this, true, "id out of range", name(row));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      for (std::size_t slot = 0; slot < ranks[rank].size(); ++slot) {
        const std::int64_t id = ranks[rank][slot];
        if (id >= 0 && id < report_.experts) held[static_cast<std::size_t>(id)] = 1;
        else outside.add(place_of(rank, slot, ranks.size()), fmt::format("expert {} of {}", id, report_.experts));
      }
    outside.finish();
    Few missing(*this, true, "missing replica", name(row));
    for (std::size_t expert = 0; expert < held.size(); ++expert)
      if (!held[expert]) missing.add("", fmt::format("expert {} stands nowhere", expert));
    missing.finish();
  }

  static std::string place_of(std::size_t rank, std::size_t slot, std::size_t ranks) {
    return ranks > 1 ? fmt::format(", rank {}, slot {}", rank, slot) : fmt::format(", slot {}", slot);
  }

  // Only vllm-ascend breaks on it; elsewhere the second one is a slot and its memory for nothing.
  void check_duplicates(const MapFile::Row& row, const std::vector<std::vector<std::int64_t>>& ranks) {
    Few twice(*this, target_ == MapTarget::ascend, "duplicate on one rank", name(row));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
      std::map<std::int64_t, int> count;
      for (const std::int64_t id : ranks[rank]) ++count[id];
      for (const auto& [id, times] : count)
        if (times > 1)
          twice.add(fmt::format(", rank {}", rank), fmt::format("expert {} stands there {} times", id, times));
    }
    twice.finish();
  }

  const MapFile& map_;
  MapTarget target_;
  const MapContext& context_;
  MapReport report_;
};

}  // namespace

bool MapReport::fatal() const {
  return std::any_of(violations.begin(), violations.end(), [](const MapViolation& v) { return v.fatal; });
}

MapReport check_map(const MapFile& map, MapTarget target, const MapContext& context) {
  return Checker(map, target, context).run();
}

std::string_view to_string(MapTarget target) {
  switch (target) {
    case MapTarget::sglang: return "sglang";
    case MapTarget::vllm: return "vllm";
    case MapTarget::trtllm: return "trtllm";
    case MapTarget::ascend: return "ascend";
    case MapTarget::eplb: return "eplb";
  }
  return "";
}

}  // namespace afore::wire
