#pragma once
// The bundled model on workers and in one piece: runs of both, and setups for them by a seed.
#include <algorithm>
#include <bit>
#include <map>
#include <mutex>

#include "host/monolith.h"
#include "host/threads/thread_runner.h"
#include "load.h"
#include "placement/registry.h"
#include "util/stop_flag.h"

namespace afore::host {

inline const LoadedModel& tiny_model() {
  static const LoadedModel model(AFORE_SOURCE_DIR "/models/tiny");
  return model;
}

inline std::vector<device::cpu::Isa> isas() {
  std::vector<device::cpu::Isa> found;
  for (const auto isa : {device::cpu::Isa::scalar, device::cpu::Isa::avx2, device::cpu::Isa::avx512bf16})
    if (device::cpu::is_supported(isa)) found.push_back(isa);
  return found;
}

struct ModelRun {
  ThreadOptions threads;
  pipeline::PlannerOptions planner;
  ServingLoopOptions serving;
  std::vector<IncomingRequest> requests;

  std::string text() const {
    const ClusterSpec& c = threads.cluster;
    const batch::ServingOptions& s = serving.serving;
    return planner.policy + " " + to_string(planner.limits.objective) + " from " + to_string(planner.source) + ", " +
           std::to_string(c.attention_workers) + ":" + std::to_string(c.ffn_workers) + " workers of " +
           std::to_string(threads.worker_threads) + " threads, " + std::to_string(c.redundant_slots) + " slots, " +
           std::to_string(c.microbatches) + " microbatches, " + std::to_string(s.max_num_seqs) + " sequences, " +
           std::to_string(s.max_num_batched_tokens) + " tokens per step, " + std::to_string(s.kv_budget_tokens) +
           " cached, " + device::cpu::to_string(threads.isa) + (threads.overlap ? "" : ", no overlap") +
           (threads.paced ? ", paced" : "");
  }
};

// Of requests, each with a seed of its own, by (seed, tokens sampled before).
using SampledLogits = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<float>>;

class LogitsLog {
 public:
  void watch(device::Attention& side) {
    side.observe([this](const device::Step& step, std::span<const float> logits) {
      const std::lock_guard lock(mutex_);
      std::size_t at = 0;
      const auto samples =
          std::count_if(step.slices.begin(), step.slices.end(), [](const auto& s) { return s.samples; });
      const std::size_t vocab = logits.size() / static_cast<std::size_t>(samples);
      for (const device::Slice& slice : step.slices) {
        if (!slice.samples) continue;
        const std::span<const float> mine = logits.subspan(at++ * vocab, vocab);
        all_[{slice.sampling.seed, slice.sample_index}].assign(mine.begin(), mine.end());
      }
    });
  }
  SampledLogits take() { return std::move(all_); }

 private:
  std::mutex mutex_;
  SampledLogits all_;
};

struct Answers {
  std::map<std::string, Completion> completions;
  SampledLogits logits;
  bool interrupted = false;
  Summary summary;
};

inline const StopFlag kGoOn{0};

// What a run answers, and what it was asked to watch on the way.
struct Watch {
  std::function<void(const Completion&)> completion{};
  const StopFlag* stop = &kGoOn;
  TextSink text{};
};

inline Answers serve(StepRunner& runner, const ModelRun& run, const Watch& watch = {}) {
  Answers answers;
  ServingLoop loop(run.serving, runner, [&](const Completion& completion) {
    EXPECT_TRUE(answers.completions.emplace(completion.id, completion).second) << completion.id << " answered twice";
    if (watch.completion) watch.completion(completion);
  });
  FiniteRequests source = feed(run.requests);
  answers.interrupted = loop.run(source, watch.stop);
  loop.fill(answers.summary);
  return answers;
}

inline Answers in_one_piece(const ModelRun& run, const Watch& watch = {}) {
  MonolithOptions options;
  options.kv_budget_tokens = run.threads.kv_budget_tokens;
  options.isa = run.threads.isa;
  Monolith monolith(tiny_model(), options, {}, watch.text);
  LogitsLog log;
  log.watch(monolith.side());
  ModelRun plain = run;
  plain.serving.serving.microbatches = plain.serving.serving.attention_workers = 1;
  Answers answers = serve(monolith, plain, watch);
  answers.logits = log.take();
  return answers;
}

inline Answers on_workers(ThreadRunner& runner, const ModelRun& run, const Watch& watch = {}) {
  LogitsLog log;
  for (int a = 0; a < run.threads.cluster.attention_workers; ++a) log.watch(runner.engine().attention(a).device());
  Answers answers = serve(runner, run, watch);
  answers.logits = log.take();
  return answers;
}

inline IncomingRequest ask(std::string id, std::vector<int> tokens, std::int64_t output_tokens, std::uint64_t seed) {
  auto prompt = std::make_shared<Prompt>();
  prompt->token_ids = std::move(tokens);
  prompt->seed = seed;
  IncomingRequest request;
  request.record.id = std::move(id);
  request.record.prompt_tokens = static_cast<std::int64_t>(prompt->token_ids.size());
  request.record.output_tokens = output_tokens;
  request.prompt = std::move(prompt);
  return request;
}

inline std::vector<int> words(Draw& draw, std::size_t tokens) {
  static const std::vector<int> text = tiny_model().tokenizer.encode(
      "The harbour was quiet when the first boats came in, and nobody asked where they had been. def area(width, "
      "height): return width * height # in metres. If 12 workers need 5 days, how long do 20 workers need? Dear Anna, "
      "thank you for the parcel; the children liked the wooden horse best of all.");
  std::vector<int> ids;
  for (std::size_t at = draw(static_cast<std::int64_t>(text.size())); ids.size() < tokens; ++at)
    ids.push_back(text[at % text.size()]);
  return ids;
}

inline std::vector<IncomingRequest> random_requests(Draw& draw, std::int64_t count) {
  static const std::vector<std::vector<std::string>> stops = {{}, {}, {"e"}, {" the", "."}, {"zz", "in", "\n"}};
  const bool together = draw(2) == 0;
  std::vector<IncomingRequest> requests;
  Nanos at = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::size_t size = draw(6) ? 1 + draw(20) : 1 + draw(70);
    IncomingRequest request = ask(std::string(1, 'r') + std::to_string(i), words(draw, size), 1 + draw(10), 1000 + i);
    auto prompt = std::make_shared<Prompt>(*request.prompt);
    if (draw(2)) prompt->temperature = 0.2 + 0.3 * static_cast<double>(draw(6));
    if (draw(3) == 0) prompt->top_p = 0.8;
    prompt->stop = stops[draw(static_cast<std::int64_t>(stops.size()))];
    prompt->ignore_eos = draw(2) == 0;
    request.prompt = std::move(prompt);
    if (!together) at += draw(400'000);
    request.record.arrival_ns = at;
    requests.push_back(std::move(request));
  }
  return requests;
}

inline std::int64_t pages_of(const IncomingRequest& request) {
  return (request.record.prompt_tokens + request.record.output_tokens + batch::kKvBlockTokens - 1) /
         batch::kKvBlockTokens;
}

// A setup that works: two FFN workers, one attention worker, whatever is asked of it fits.
inline ModelRun plain_run(std::vector<IncomingRequest> requests) {
  const HardwareProfile& profile = *find_hardware_profile("cpu");
  ModelRun run;
  ThreadOptions& threads = run.threads;
  threads.model = nn::model_spec(tiny_model().config());
  threads.cluster = {.attention_workers = 1,
                     .ffn_workers = 2,
                     .redundant_slots = 2,
                     .tile_tokens = device::cpu::kTileTokens,
                     .microbatches = 2};
  threads.layer_cost = layer_cost(profile, threads.model, device::cpu::kTileTokens);
  threads.pipeline_cost = pipeline_cost(profile, threads.model);
  threads.isa = device::cpu::best_isa();
  threads.deadline_ns = 60'000'000'000;
  run.planner.limits.copy_budget = 2;
  run.planner.limits.gain_rule = false;
  std::int64_t pages = 0;
  for (const IncomingRequest& request : requests) pages += pages_of(request);
  threads.kv_budget_tokens = pages * batch::kKvBlockTokens;
  run.serving.layers = threads.model.moe_layers.size();
  run.serving.serving.microbatches = 2;
  run.serving.serving.attention_workers = 1;
  run.serving.serving.kv_budget_tokens = threads.kv_budget_tokens;
  run.serving.serving.max_queue = static_cast<std::int64_t>(requests.size());
  run.requests = std::move(requests);
  return run;
}

inline void set_workers(ModelRun& run, std::int64_t attention, std::int64_t ffn, std::int64_t microbatches) {
  run.threads.cluster.attention_workers = run.serving.serving.attention_workers = static_cast<int>(attention);
  run.threads.cluster.ffn_workers = run.planner.limits.copy_budget = ffn;
  run.threads.cluster.microbatches = run.serving.serving.microbatches = static_cast<int>(microbatches);
}

inline ModelRun random_run(Draw& draw) {
  ModelRun run = plain_run(random_requests(draw, 8 + draw(9)));
  const std::int64_t ffn_workers[] = {1, 2, 2, 4, 4, 8, 8, 8};
  set_workers(run, std::int64_t{1} << draw(3), ffn_workers[draw(8)], 1 + draw(4));
  const auto all_policies = placement::policies();
  const char* const policies[] = {"afore", "afore",
                                  "afore", "eplb",
                                  "paper", all_policies[draw(static_cast<std::int64_t>(all_policies.size()))].name};
  run.planner.policy = policies[draw(6)];
  run.planner.source = static_cast<pipeline::DemandSource>(draw(3));
  run.planner.window_steps = static_cast<int>(1 + draw(5));
  run.planner.eplb.interval_steps = static_cast<int>(1 + draw(4));
  run.planner.eplb.step_bytes = (1 + draw(20)) * run.threads.layer_cost.expert_bytes;
  run.planner.limits.objective = draw(2) ? Objective::time : Objective::tiles;
  run.planner.limits.level = draw(2) == 0;
  run.planner.limits.copy_budget = draw(3 * run.threads.cluster.ffn_workers);
  if (draw(2)) run.planner.window_ns = draw(1'000'000);
  const std::int64_t slots[] = {0, 1, 1, 2, 2, 3};
  run.threads.cluster.redundant_slots = slots[draw(6)];
  run.threads.overlap = run.planner.overlap = draw(4) > 0;
  run.threads.paced = draw(8) == 0;
  run.threads.worker_threads = draw(4) ? 1 : 2;
  const std::vector<device::cpu::Isa> all = isas();
  run.threads.isa = all[draw(static_cast<std::int64_t>(all.size()))];
  batch::ServingOptions& serving = run.serving.serving;
  serving.max_num_seqs = 1 + draw(8);
  serving.max_num_batched_tokens = serving.max_num_seqs + (draw(2) ? draw(8) : draw(100));
  std::int64_t largest = 1;
  for (const IncomingRequest& request : run.requests) largest = std::max(largest, pages_of(request));
  const std::int64_t pages = draw(4) ? largest + draw(3 * largest) : std::max<std::int64_t>(1, largest - 1);
  serving.kv_budget_tokens = run.threads.kv_budget_tokens = pages * batch::kKvBlockTokens;
  return run;
}

}  // namespace afore::host
