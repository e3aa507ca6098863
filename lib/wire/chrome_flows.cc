#include "wire/chrome_flows.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

namespace afore::wire {
namespace {

using Slice = ChromeTrace::Slice;

enum class Work { attention, sampling, expert_ffn, copy, none };

Work work_of(const Slice& slice, std::span<const std::string> ops) {
  if (slice.lane == 1) return Work::copy;
  if (slice.lane != 0) return Work::none;
  const std::string& op = ops[static_cast<std::size_t>(slice.op)];
  if (op == "attention") return Work::attention;
  if (op == "sampling") return Work::sampling;
  return op == "expert_ffn" ? Work::expert_ffn : Work::none;
}

using Members = std::vector<std::size_t>;  // slices, by start

struct Stages {
  std::map<Target, Members> attention, ffn;
  std::map<std::pair<std::int64_t, int>, Members> sampling;             // by step and microbatch
  std::map<std::tuple<Target, int>, Members> copies;                    // by target and worker
  std::map<std::tuple<std::int64_t, int, int>, Target> next_attention;  // by step, microbatch, layer
};

std::optional<std::size_t> last_to_end(const Members& members, std::span<const Slice> slices) {
  if (members.empty()) return std::nullopt;
  return *std::max_element(members.begin(), members.end(),
                           [&](std::size_t a, std::size_t b) { return slices[a].end_ns < slices[b].end_ns; });
}

Stages stages_of(std::span<const Slice> slices, std::span<const std::string> ops) {
  Stages stages;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const Target& target = slices[i].target;
    switch (work_of(slices[i], ops)) {
      case Work::attention: stages.attention[target].push_back(i); break;
      case Work::expert_ffn: stages.ffn[target].push_back(i); break;
      case Work::sampling: stages.sampling[{target.step, target.microbatch}].push_back(i); break;
      case Work::copy: stages.copies[{target, slices[i].worker}].push_back(i); break;
      case Work::none: break;
    }
  }
  return stages;
}

class Finder {
 public:
  Finder(std::span<const Slice> slices, std::span<const std::string> ops)
      : slices_(slices), stages_(stages_of(slices, ops)) {
    for (const auto& [target, members] : stages_.attention)
      layers_[{target.step, target.microbatch}].push_back(target.layer);  // ascending, as the map's targets are
  }

  void pipeline() {
    for (const auto& [target, ffn] : stages_.ffn) {
      const auto attention = stages_.attention.find(target);
      if (attention != stages_.attention.end()) spread(attention->second, ffn, "A to F");
      if (const Members* next = after(target)) spread(ffn, *next, "F to A");
    }
  }

  // The k-th copy of a plan to a worker is the k-th that the worker received for that target, as long as it received
  // all of them: the list is run in order.
  void copies(std::span<const ChromeTrace::CopyUse> uses) {
    std::map<std::tuple<Target, int>, std::vector<const ChromeTrace::CopyUse*>> planned;
    for (const auto& use : uses) planned[{use.planned, use.worker}].push_back(&use);
    for (const auto& [key, list] : planned) {
      const auto received = stages_.copies.find(key);
      if (received == stages_.copies.end() || received->second.size() != list.size()) continue;
      for (std::size_t k = 0; k < list.size(); ++k) use(received->second[k], *list[k]);
    }
  }

  std::vector<Flow> take() { return std::move(flows_); }

 private:
  const Members* after(const Target& target) const {
    const std::pair key{target.step, target.microbatch};
    if (const auto layers = layers_.find(key); layers != layers_.end()) {
      const auto next = std::upper_bound(layers->second.begin(), layers->second.end(), target.layer);
      if (next != layers->second.end()) return &stages_.attention.at({target.step, *next, target.microbatch});
    }
    const auto sampling = stages_.sampling.find(key);
    return sampling == stages_.sampling.end() ? nullptr : &sampling->second;
  }

  // From who was last to end to everybody: an arrow for each pair would be workers squared.
  void spread(const Members& from, const Members& to, const char* name) {
    const auto last = last_to_end(from, slices_);
    for (const std::size_t member : to) add(*last, member, name);
  }

  void use(std::size_t copy, const ChromeTrace::CopyUse& use) {
    if (!use.is_used) return;
    const auto ffn = stages_.ffn.find(use.used);
    if (ffn == stages_.ffn.end()) return;
    for (const std::size_t member : ffn->second)
      if (slices_[member].worker == use.worker) add(copy, member, "copied expert");
  }

  void add(std::size_t from, std::size_t to, const char* name) {
    if (slices_[from].end_ns <= slices_[to].start_ns) flows_.push_back({from, to, name});
  }

  std::span<const Slice> slices_;
  Stages stages_;
  std::map<std::pair<std::int64_t, int>, std::vector<int>> layers_;  // with attention, by step and microbatch
  std::vector<Flow> flows_;
};

}  // namespace

std::vector<Flow> flows_of(std::span<const Slice> slices, std::span<const std::string> ops,
                           std::span<const ChromeTrace::CopyUse> copies) {
  Finder finder(slices, ops);
  finder.pipeline();
  finder.copies(copies);
  return finder.take();
}

}  // namespace afore::wire
