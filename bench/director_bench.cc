// How far Director's plans are from their lower bound, and what planning takes, on the demand of a stream.
//   director_bench STREAM [WORKERS [TARGETS [POLICY]]]
// The targets of the stream are planned in order, copies stay, and slots with work in a layer's last two targets (three
// microbatches) may not be overwritten: 2 redundant slots per worker, tiles of 64 tokens, the built-in h100, as many
// copies per target as workers. Of each target's plan: objective over bound. With POLICY that policy plans in
// Director's place, and its FFN time is held against the bound of its own frame.
#include <fmt/core.h>

#include <algorithm>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/assignment.h"
#include "placement/director/solve.h"
#include "placement/registry.h"
#include "util/line_io.h"
#include "wire/wire.h"

namespace afore::bench {
namespace {

using placement::director::Options;
using placement::director::Solution;

constexpr std::int64_t kTileTokens = 64;
constexpr int kSlots = 2, kMicrobatches = 3;

struct Layer {
  LayerPlacement placement;
  std::vector<std::int64_t> last_used;
  std::int64_t targets = 0;
};

struct Figures {
  std::vector<double> ratio, ms, standing;
  std::int64_t copies = 0, programs = 0, proven = 0, ns = 0;
};

// Of this thread: other programs on the machine do not count.
double cpu_ms() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) / 1e6;
}

double at_rank(std::vector<double>& values, double share) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

class Bench {
 public:
  Bench(int workers, const std::string& policy) : workers_(workers) {
    if (policy.empty()) return;
    placement::Limits limits;
    limits.copy_budget = workers;
    limits.gain_rule = false;
    limits.microbatches = kMicrobatches;
    policy_ = placement::find_policy(policy)->make(limits);
  }

  void start(const Header& header) {
    cost_ = layer_cost(*find_hardware_profile("h100"), header.model, kTileTokens);
    experts_ = static_cast<int>(header.model.experts);
  }

  void plan(const Demand& demand) {
    const auto [it, fresh] =
        layers_.try_emplace(demand.target.layer, Layer{LayerPlacement::initial(experts_, workers_, kSlots), {}, 0});
    Layer& layer = it->second;
    if (fresh) layer.last_used.assign(layer.placement.index_count(), -1);
    std::vector<std::uint8_t> busy(layer.last_used.size());
    for (std::size_t i = 0; i < busy.size(); ++i)
      busy[i] = layer.last_used[i] >= 0 && layer.last_used[i] > layer.targets - kMicrobatches;
    const placement::Request request{demand.target, demand.counts, layer.placement, busy, layer.last_used, cost_, 0};
    const double start = cpu_ms();
    solve(request);
    figures_.ms.push_back(cpu_ms() - start);
    figures_.ratio.push_back(solution_.ratio());
    figures_.standing.push_back(static_cast<double>(solution_.standing_ns) /
                                static_cast<double>(solution_.objective_ns));
    figures_.copies += std::ssize(solution_.copies);
    figures_.programs += solution_.programs;
    figures_.proven += solution_.objective_ns == solution_.bound_ns;
    figures_.ns += solution_.objective_ns;
    for (const Copy& copy : solution_.copies) layer.placement.set(copy.to, copy.slot, copy.expert);
    for (const TileShare& share : solution_.assignment)
      layer.last_used[layer.placement.index(share.worker, layer.placement.slot_of(share.expert, share.worker))] =
          layer.targets;
    ++layer.targets;
  }

  std::size_t planned() const { return figures_.ratio.size(); }

  void print(const std::string& name) {
    Figures& f = figures_;
    const auto n = static_cast<double>(f.ratio.size());
    fmt::print("{}\t{}\t{:.0f}\t{:.4f}\t{:.4f}\t{:.4f}\t{:.1f}%\t{:.1f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\t{:.2f}\n",
               name, workers_, n, at_rank(f.ratio, 0.5), at_rank(f.ratio, 0.95), at_rank(f.ratio, 1),
               100 * static_cast<double>(f.proven) / n, static_cast<double>(f.ns) / n / 1e3,
               static_cast<double>(f.copies) / n, static_cast<double>(f.programs) / n, at_rank(f.ms, 0.5),
               at_rank(f.ms, 0.95), at_rank(f.ms, 1));
  }

 private:
  void solve(const placement::Request& request) {
    if (!policy_) {
      Options options;
      options.copy_budget = workers_;
      solver_.solve(request, options, solution_);
      return;
    }
    policy_->plan(request, decision_);
    solution_ = {};
    solution_.copies = decision_.copies;
    solution_.assignment = decision_.assignment;
    solution_.objective_ns = worker_loads(decision_.assignment, workers_, cost_).max_ns;
    solution_.bound_ns = decision_.lower_bound_ns;
    solution_.standing_ns = decision_.ffn_ns_before;
  }

  int workers_, experts_ = 0;
  LayerCost cost_;
  std::map<int, Layer> layers_;
  placement::director::Solver solver_;
  Solution solution_;
  std::unique_ptr<placement::Policy> policy_;
  placement::Decision decision_;
  Figures figures_;
};

int run(const std::vector<std::string>& arguments) {
  const std::string& path = arguments[0];
  const int workers = arguments.size() > 1 ? std::stoi(arguments[1]) : 8;
  const std::size_t targets = arguments.size() > 2 ? std::stoul(arguments[2]) : 1000;
  Bench bench(workers, arguments.size() > 3 ? arguments[3] : "");
  LineReader lines(path);
  wire::RecordDecoder decoder(lines.name());
  std::string_view line;
  while (bench.planned() < targets && lines.next(line)) {
    const Record record = decoder.decode(line, lines.line_number());
    if (const auto* header = std::get_if<Header>(&record)) bench.start(*header);
    if (const auto* demand = std::get_if<Demand>(&record)) bench.plan(*demand);
  }
  bench.print(path.substr(path.find_last_of('/') + 1));
  return 0;
}

}  // namespace
}  // namespace afore::bench

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(stderr, "usage: director_bench STREAM [WORKERS [TARGETS [POLICY]]]\n");
    return 2;
  }
  fmt::print("stream\tworkers\ttargets\tratio p50\tp95\tmax\tat bound\tmean us\tcopies\tprograms\tms p50\tp95\tmax\n");
  return afore::bench::run({argv + 1, argv + argc});
}
