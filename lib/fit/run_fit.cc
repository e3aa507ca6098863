#include "fit/run_fit.h"

#include <algorithm>
#include <cmath>

#include "util/error.h"
#include "util/stats.h"

namespace afore::fit {
namespace {

constexpr std::size_t kFewestPoints = 16;

struct Worker {
  char pool = 'A';
  std::size_t index = 0;
};

Worker worker_of(const Operation& operation) {
  Worker worker;
  if (operation.worker.empty()) throw Error(ErrorKind::data, "an operation names no worker");
  worker.pool = operation.worker[0];
  for (std::size_t i = 1; i < operation.worker.size(); ++i)
    worker.index = worker.index * 10 + static_cast<std::size_t>(operation.worker[i] - '0');
  return worker;
}

double length_ns(const Operation& operation) {
  return static_cast<double>(std::max<Nanos>(1, operation.end_ns - operation.start_ns));
}

Errors errors_on(const Model& model, const std::vector<Point>& points) {
  std::vector<double> errors;
  for (const Point& point : points) errors.push_back(relative_error(model, point));
  return errors_of(std::move(errors));
}

void fit(FittedOperation& operation, std::size_t width, const char* what) {
  if (operation.points.size() < kFewestPoints)
    throw Error(ErrorKind::data, std::string("the run has too few operations of ") + what + " to fit",
                "record more with afore-serve run --record FILE --timeline");
  operation.model = fit_relative(operation.points, width);
  // That is the usual time. What a run takes is their sum, with the operations that were interrupted.
  double measured = 0, predicted = 0;
  for (const Point& point : operation.points) {
    measured += point.time_ns;
    predicted += operation.model.predict(point.columns);
  }
  for (double& c : operation.model.c) c *= measured / predicted;
  operation.errors = errors_on(operation.model, operation.points);
}

std::optional<double> mean(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// The last end of any operation of each worker's computing lane before a time.
class Ends {
 public:
  explicit Ends(const std::vector<Operation>& operations) {
    for (const Operation& operation : operations)
      if (operation.lane == "compute") ends_[operation.worker].push_back(operation.end_ns);
    for (auto& [worker, ends] : ends_) std::sort(ends.begin(), ends.end());
  }
  Nanos before(const std::string& worker, Nanos start_ns) const {
    const auto it = ends_.find(worker);
    if (it == ends_.end()) return 0;
    const auto end = std::upper_bound(it->second.begin(), it->second.end(), start_ns);
    return end == it->second.begin() ? 0 : *(end - 1);
  }

 private:
  std::map<std::string, std::vector<Nanos>> ends_;
};

}  // namespace

void RunFit::on_batch(const Batch& batch) { batches_[{batch.step, batch.microbatch}] = batch; }

void RunFit::on_demand(const Demand& demand) { work_[demand.target].tokens = demand.tokens; }

void RunFit::on_plan(const Plan& plan) {
  Work& work = work_[plan.target];
  work.tiles.assign(static_cast<std::size_t>(header_.cluster.ffn_workers), 0);
  work.activated.assign(work.tiles.size(), 0);
  for (const TileShare& share : plan.assignment) {
    if (share.worker < 0 || static_cast<std::size_t>(share.worker) >= work.tiles.size())
      throw Error(ErrorKind::data, "a plan names a worker that the header does not have");
    work.tiles[share.worker] += share.tiles;
    ++work.activated[share.worker];
  }
}

// As the simulator splits a batch: tokens and cached ones in proportion to the sequences.
RunFit::Share RunFit::share(const Batch& batch, std::int64_t tokens, std::size_t worker) const {
  double part = 1.0 / static_cast<double>(std::max<std::int64_t>(1, header_.cluster.attention_workers));
  double sequences = static_cast<double>(batch.sequences) * part;
  if (worker < batch.per_attention_worker.size() && batch.sequences > 0) {
    sequences = static_cast<double>(batch.per_attention_worker[worker]);
    part = sequences / static_cast<double>(batch.sequences);
  }
  return {static_cast<double>(tokens) * part, static_cast<double>(batch.kv_tokens) * part, sequences};
}

void RunFit::add_points(const Operation& operation, RunFitResult& result) const {
  const Worker worker = worker_of(operation);
  const auto work = work_.find(operation.target);
  const auto batch = batches_.find({operation.target.step, operation.target.microbatch});
  if (operation.op == "copy_expert" || work == work_.end() || batch == batches_.end()) return;
  if (operation.op == "expert_ffn") {
    if (worker.index >= work->second.tiles.size() || work->second.tiles[worker.index] == 0) return;
    result.ffn.points.push_back({{1, static_cast<double>(work->second.tiles[worker.index]),
                                  static_cast<double>(work->second.activated[worker.index])},
                                 length_ns(operation)});
    return;
  }
  const Share mine = share(batch->second, work->second.tokens, worker.index);
  if (mine.tokens == 0) return;
  if (operation.op == "sampling") {
    result.sampling.points.push_back({{1, mine.sequences}, length_ns(operation)});
  } else if (operation.op == "attention") {
    const bool first = !header_.model.moe_layers.empty() && operation.target.layer == header_.model.moe_layers[0];
    (first ? result.first : result.attention)
        .points.push_back({{1, mine.tokens, mine.kv_tokens}, length_ns(operation)});
  }
}

// From the end of what a worker waited for to its beginning, where the worker itself had been idle before.
void RunFit::add_hops(RunFitResult& result) const {
  std::map<Target, Nanos> gates, results;                 // last end on the attention side, on the FFN side
  std::map<std::pair<std::int64_t, int>, Nanos> sampled;  // by step and microbatch
  for (const Operation& operation : operations_) {
    if (operation.op == "attention") gates[operation.target] = std::max(gates[operation.target], operation.end_ns);
    if (operation.op == "expert_ffn") results[operation.target] = std::max(results[operation.target], operation.end_ns);
    const auto key = std::pair(operation.target.step, operation.target.microbatch);
    if (operation.op == "sampling") sampled[key] = std::max(sampled[key], operation.end_ns);
  }
  const std::vector<int>& layers = header_.model.moe_layers;
  const Ends ends(operations_);
  std::vector<double> to_ffn, to_attention, next_step, copies;
  const auto add = [&](const Operation& operation, Nanos caused_ns, std::vector<double>& hops) {
    // The operation's own end may be its start for one without length, so look strictly before.
    if (caused_ns <= operation.start_ns && ends.before(operation.worker, operation.start_ns - 1) <= caused_ns)
      hops.push_back(static_cast<double>(operation.start_ns - caused_ns));
  };
  for (const Operation& operation : operations_) {
    const Target& target = operation.target;
    if (operation.op == "copy_expert") copies.push_back(length_ns(operation));
    if (operation.op == "expert_ffn" && gates.contains(target)) add(operation, gates.at(target), to_ffn);
    if (operation.op != "attention") continue;
    const auto layer = std::find(layers.begin(), layers.end(), target.layer);
    if (layer == layers.end()) continue;
    if (layer != layers.begin()) {
      const auto before = results.find({target.step, *(layer - 1), target.microbatch});
      if (before != results.end()) add(operation, before->second, to_attention);
    } else if (const auto last = sampled.find({target.step - 1, target.microbatch}); last != sampled.end()) {
      add(operation, last->second, next_step);
    }
  }
  result.copies = static_cast<std::int64_t>(copies.size());
  result.to_ffn_ns = mean(to_ffn);
  result.to_attention_ns = mean(to_attention);
  result.next_step_ns = mean(next_step);
  result.copy_ns = quantile(copies, 0.5);
}

RunFitResult RunFit::result() const {
  RunFitResult result;
  result.operations = static_cast<std::int64_t>(operations_.size());
  for (const Operation& operation : operations_) add_points(operation, result);
  fit(result.attention, 3, "attention");
  fit(result.ffn, 3, "experts");
  fit(result.sampling, 2, "sampling");
  // What the first layer's attention takes more than the others': of points that do.
  for (Point& point : result.first.points) {
    const double beyond = point.time_ns - result.attention.model.predict(point.columns);
    point = {{1, point.columns[1]}, std::max(1.0, beyond)};
  }
  fit(result.first, 2, "a step's first attention");
  add_hops(result);
  return result;
}

HardwareProfile calibrated(HardwareProfile profile, const RunFitResult& result, const Header& header,
                           std::optional<double> plan_ns) {
  const auto whole = [](double ns, Nanos least) { return std::max<Nanos>(least, std::llround(ns)); };
  const Columns &attention = result.attention.model.c, &ffn = result.ffn.model.c, &first = result.first.model.c,
                &sampling = result.sampling.model.c;
  profile.measured.reset();  // of other values than these
  profile.attention_c0_ns = whole(attention[0], 0);
  profile.attention_token_ns = attention[1];
  profile.attention_kv_ns = attention[2];
  profile.ffn_c0_ns = whole(ffn[0], 0);
  profile.ffn_c1_ns = whole(ffn[1], 1);
  profile.ffn_c2_ns = whole(ffn[2], 1);
  profile.ffn_tile_tokens = header.cluster.tile_tokens;
  // What a step's begin takes whatever its size follows its microbatch's sampling on the same worker: the two are one
  // to the pipeline.
  profile.sampling_ns = whole(sampling[0] + first[0] + result.next_step_ns.value_or(0), 0);
  profile.step_token_ns = first[1];
  profile.sampling_token_ns = sampling[1];
  profile.link_bytes_per_s = 1e15;
  profile.link_efficiency = 1;
  profile.link_latency_ns = whole(result.to_attention_ns.value_or(0), 0);
  if (plan_ns) profile.scheduler_ns = whole(*plan_ns, 0);
  if (result.to_ffn_ns)
    profile.control_latency_ns = whole((*result.to_ffn_ns - static_cast<double>(profile.scheduler_ns)) / 2, 0);
  if (result.copy_ns && *result.copy_ns >= 2 && header.model.expert_bytes > 0) {
    profile.copy_latency_ns = std::min<Nanos>(profile.copy_latency_ns, whole(*result.copy_ns / 2, 0));
    profile.copy_bytes_per_s = static_cast<double>(header.model.expert_bytes) * 1e9 /
                               (*result.copy_ns - static_cast<double>(profile.copy_latency_ns));
  }
  return profile;
}

}  // namespace afore::fit
