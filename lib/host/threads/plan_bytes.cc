#include "host/threads/plan_bytes.h"

#include <cstring>
#include <optional>
#include <type_traits>
#include <vector>

#include "util/error.h"

namespace afore::host {
namespace {

using pipeline::PublishedPlan;
using Share = PublishedPlan::Share;

[[noreturn]] void refuse(const char* what) {
  throw Error(ErrorKind::data, std::string("a plan's bytes: ") + what, "they were damaged on their way to a worker");
}

// Each struct's members in one list for both ways. A member that is added to the struct breaks the binding here.
template <class Io, class T>
void members(Io& io, T& value) {
  using Plain = std::remove_const_t<T>;
  if constexpr (std::is_same_v<Plain, Target>) {
    auto& [step, layer, microbatch] = value;
    io(step, layer, microbatch);
  } else if constexpr (std::is_same_v<Plain, Copy>) {
    auto& [expert, from, to, slot] = value;
    io(expert, from, to, slot);
  } else if constexpr (std::is_same_v<Plain, TileShare> || std::is_same_v<Plain, TokenShare>) {
    auto& [expert, worker, amount] = value;
    io(expert, worker, amount);
  } else if constexpr (std::is_same_v<Plain, AheadCopy>) {
    auto& [layer, copy] = value;
    io(layer, copy);
  } else if constexpr (std::is_same_v<Plain, ReplicaAt>) {
    auto& [expert, worker] = value;
    io(expert, worker);
  } else if constexpr (std::is_same_v<Plain, Share>) {
    auto& [expert, tiles, tokens, first] = value;
    io(expert, tiles, tokens, first);
  } else if constexpr (std::is_same_v<Plain, PublishedPlan>) {
    auto& [plan, phase, tokens, serial, shares, share_begin, tiles, worker_tokens] = value;
    io(plan, phase, tokens, serial, shares, share_begin, tiles, worker_tokens);
  } else {
    static_assert(std::is_same_v<Plain, Plan>);
    auto& [seq, target, policy, demand_source, objective, rehomes, is_virtual, copies, ahead, assignment,
           assignment_tokens, tile_load, max_tile_load_before, max_tile_load, lower_bound, ffn_ns_before, ffn_ns,
           ffn_bound_ns, certified, cut, split_bound_ns, budget_hit, relaxation_bound_ns, backlog_ns, unready,
           completion_ns, gain_ns, gain_bound_ns, migration_ns, window_ns, window_source, exposed_ns,
           predicted_max_tile_load, predicted_ffn_ns] = value;
    io(seq, target, policy, demand_source, objective, rehomes, is_virtual, copies, ahead, assignment,
       assignment_tokens);
    io(tile_load, max_tile_load_before, max_tile_load, lower_bound, ffn_ns_before, ffn_ns, ffn_bound_ns, certified);
    io(cut, split_bound_ns, budget_hit, relaxation_bound_ns, backlog_ns, unready, completion_ns, gain_ns, gain_bound_ns,
       migration_ns);
    io(window_ns, window_source, exposed_ns, predicted_max_tile_load, predicted_ffn_ns);
  }
}

class ByteWriter {
 public:
  explicit ByteWriter(std::string& bytes) : bytes_(bytes) { bytes_.clear(); }

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
      bytes_ += static_cast<char>(value);
    } else if constexpr (std::is_arithmetic_v<T>) {
      raw(&value, sizeof value);
    } else {
      members(*this, value);
    }
  }
  void put(const std::string& text) {
    put(text.size());
    bytes_ += text;
  }
  template <class T>
  void put(const std::optional<T>& value) {
    put(value.has_value());
    if (value) put(*value);
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(list.size());
    if constexpr (std::is_arithmetic_v<T>) raw(list.data(), list.size() * sizeof(T));
    else
      for (const T& value : list) put(value);
  }
  void raw(const void* data, std::size_t size) { bytes_.append(static_cast<const char*>(data), size); }

  std::string& bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : left_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  bool at_end() const { return left_.empty(); }

 private:
  static constexpr std::uint8_t most(bool) { return 1; }
  static constexpr std::uint8_t most(Phase) { return static_cast<std::uint8_t>(Phase::warmup); }
  static constexpr std::uint8_t most(Objective) { return static_cast<std::uint8_t>(Objective::tiles); }

  template <class T>
  void get(T& value) {
    if constexpr (std::is_same_v<T, bool> || std::is_enum_v<T>) {
      std::uint8_t byte = 0;
      raw(&byte, 1);
      if (byte > most(T{})) refuse("a choice that there is not");
      value = static_cast<T>(byte);
    } else if constexpr (std::is_arithmetic_v<T>) {
      raw(&value, sizeof value);
    } else {
      members(*this, value);
    }
  }
  void get(std::string& text) {
    const std::size_t size = length(1);
    text.assign(left_.substr(0, size));
    left_.remove_prefix(size);
  }
  template <class T>
  void get(std::optional<T>& value) {
    bool there = false;
    get(there);
    value.reset();
    if (there) get(value.emplace());
  }
  template <class T>
  void get(std::vector<T>& list) {
    // Every element takes at least the bytes of one of its numbers, so no length makes this allocate without bound.
    list.resize(length(std::is_arithmetic_v<T> ? sizeof(T) : sizeof(int)));
    if constexpr (std::is_arithmetic_v<T>) raw(list.data(), list.size() * sizeof(T));
    else
      for (T& value : list) get(value);
  }
  std::size_t length(std::size_t element_bytes) {
    std::size_t size = 0;
    get(size);
    if (size > left_.size() / element_bytes) refuse("a list is longer than they are");
    return size;
  }
  void raw(void* data, std::size_t size) {
    if (size > left_.size()) refuse("they end early");
    if (size > 0) std::memcpy(data, left_.data(), size);
    left_.remove_prefix(size);
  }

  std::string_view left_;
};

void check(bool holds, const char* what) {
  if (!holds) refuse(what);
}

bool below(int id, int end) { return id >= 0 && id < end; }

void add(std::int64_t& sum, std::int64_t amount, const char* what) {
  check(amount >= 0 && !__builtin_add_overflow(sum, amount, &sum), what);
}

void check_target(const PublishedPlan& published) {
  const Target& target = published.plan.target;
  check(target.step >= 0 && target.layer >= 0 && target.microbatch >= 0, "a target below 0");
  check(published.serial >= 0 && published.tokens >= 0, "a serial or a number of tokens below 0");
}

void check_ids(const Plan& plan, const PlanShape& shape) {
  for (const Copy& copy : plan.copies) {
    check(below(copy.expert, shape.experts), "a copy of an unknown expert");
    check(below(copy.from, shape.workers) && below(copy.to, shape.workers), "a copy between unknown workers");
    check(copy.slot == kStagingSlot || below(copy.slot, shape.slots_per_worker), "a copy into an unknown slot");
  }
  for (const ReplicaAt& replica : plan.unready)
    check(below(replica.expert, shape.experts) && below(replica.worker, shape.workers), "an unknown replica");
  for (const int worker : plan.cut) check(below(worker, shape.workers), "a cut through unknown workers");
  const auto per_worker = [&](std::size_t size) {
    return size == 0 || size == static_cast<std::size_t>(shape.workers);
  };
  check(per_worker(plan.tile_load.size()) && per_worker(plan.backlog_ns.size()), "a list that is not one per worker");
}

void check_assignment(const Plan& plan, const PlanShape& shape) {
  for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
    const TileShare& share = plan.assignment[i];
    check(below(share.expert, shape.experts) && below(share.worker, shape.workers), "work for an unknown replica");
    check(share.tiles > 0, "a share without tiles");
    if (i == 0) continue;
    const TileShare& before = plan.assignment[i - 1];
    check(before.expert < share.expert || (before.expert == share.expert && before.worker < share.worker),
          "an assignment out of order");
  }
}

// Shares are the assignment, worker by worker, with the sums that are kept of them. -> where each entry of the
// assignment is among the shares.
std::vector<std::size_t> check_shares(const PublishedPlan& published, const PlanShape& shape) {
  const Plan& plan = published.plan;
  const auto workers = static_cast<std::size_t>(shape.workers);
  check(published.tiles.size() == workers && published.worker_tokens.size() == workers &&
            published.share_begin.size() == workers + 1,
        "a list that is not one per worker");
  check(published.share_begin.front() == 0 && published.share_begin.back() == published.shares.size() &&
            published.shares.size() == plan.assignment.size(),
        "shares and assignment differ in number");
  for (std::size_t w = 0; w < workers; ++w)
    check(published.share_begin[w] <= published.share_begin[w + 1], "shares out of order");
  check(plan.assignment_tokens.empty() || plan.assignment_tokens.size() == plan.assignment.size(),
        "tokens and tiles differ in number");

  std::vector<std::size_t> at(published.share_begin.begin(), published.share_begin.end() - 1), place;
  std::vector<std::int64_t> tiles(workers, 0), tokens(workers, 0);
  for (std::size_t i = 0; i < plan.assignment.size(); ++i) {
    const TileShare& given = plan.assignment[i];
    check(at[given.worker] < published.share_begin[given.worker + 1], "a worker has more work than shares");
    place.push_back(at[given.worker]++);
    const Share& share = published.shares[place.back()];
    check(share.expert == given.expert && share.tiles == given.tiles, "a share is not the assignment's");
    if (!plan.assignment_tokens.empty())
      check(plan.assignment_tokens[i] == TokenShare{given.expert, given.worker, share.tokens},
            "a share's tokens are not the assignment's");
    add(tiles[given.worker], share.tiles, "tiles without bound");
    add(tokens[given.worker], share.tokens, "tokens below 0 or without bound");
  }
  check(tiles == published.tiles && tokens == published.worker_tokens, "a worker's sums do not add up");
  return place;
}

// Each expert's tokens in the order of the assignment, at most one worker's behind those of all others.
void check_ranges(const PublishedPlan& published, const std::vector<std::size_t>& place) {
  const std::vector<TileShare>& assignment = published.plan.assignment;
  for (std::size_t begin = 0, end = 0; begin < assignment.size(); begin = end) {
    std::int64_t total = 0, next = 0;
    for (; end < assignment.size() && assignment[end].expert == assignment[begin].expert; ++end)
      add(total, published.shares[place[end]].tokens, "tokens below 0 or without bound");
    const Share* last = nullptr;
    for (std::size_t i = begin; i < end; ++i) {
      const Share& share = published.shares[place[i]];
      check(share.first >= 0 && share.first <= total, "a share begins outside its expert's tokens");
      if (share.tokens == 0) continue;
      if (share.first == next) {
        next += share.tokens;
      } else {
        check(last == nullptr, "an expert's tokens are given out twice or not at all");
        last = &share;
      }
    }
    check(last == nullptr || last->first == next, "an expert's tokens are given out twice or not at all");
  }
}

}  // namespace

void encode_plan(const PublishedPlan& plan, std::string& bytes) { ByteWriter{bytes}(plan); }

std::shared_ptr<PublishedPlan> decode_plan(std::string_view bytes, const PlanShape& shape) {
  auto published = std::make_shared<PublishedPlan>();
  ByteReader reader{bytes};
  reader(*published);
  check(reader.at_end(), "there are more than of one plan");
  check_target(*published);
  check_ids(published->plan, shape);
  check_assignment(published->plan, shape);
  check_ranges(*published, check_shares(*published, shape));
  return published;
}

}  // namespace afore::host
